import { execFileSync, spawn } from 'node:child_process';
import { Redis } from 'ioredis';
const port = 7000 + Math.floor(Math.random()*1000);
const server = spawn('redis-server', ['--port', port, '--save', '', '--bind', '127.0.0.1'], {stdio:'ignore'});
await new Promise(r=>setTimeout(r,500));
const admin = new Redis(port);
const names = (process.argv[2] ?? 'ours,before').split(',');
const rounds = Number(process.argv[3] ?? 5);
const subjects = {};
for (const n of names) { const m = await import(`fair-lock-${n}/standalone`).catch(async()=>await import(`./node_modules/fair-lock-${n}/dist/esm/standalone/index.js`)); subjects[n] = await m.createFairLock({ redis: `redis://127.0.0.1:${port}`, keyPrefix: n }); }
const cpu = async()=>{ const i = await admin.info('cpu'); return Number(/used_cpu_user:([\d.]+)/.exec(i)[1])+Number(/used_cpu_sys:([\d.]+)/.exec(i)[1]); };
const out = {};
for (let r=0;r<rounds;r++) for (const n of names) {
  const locks = subjects[n].locks ?? subjects[n];
  const run = async (callers, key, count)=>{ let left=count; await Promise.all(Array.from({length:callers}, async (_, c)=>{ while(left-->0) await locks.withLock(key(c,left), async()=>{}); })); };
  const cases = { hot20: [20, ()=>'hot', 4000], hot2: [2, ()=>'hot', 3000], free16: [16, (c,l)=>'f'+(l%1000), 6000], one: [1, ()=>'one', 2000] };
  for (const [name,[callers,key,count]] of Object.entries(cases)) {
    await run(callers,key,500);
    await admin.config('RESETSTAT');
    const c0=process.cpuUsage(), s0=await cpu(), t0=performance.now();
    await run(callers,key,count);
    const c=process.cpuUsage(c0), s=await cpu()-s0, t=performance.now()-t0;
    const stats = await admin.info('commandstats'); let calls=0,usec=0; for (const m of stats.matchAll(/cmdstat_([^:]+):calls=(\d+),usec=(\d+)/g)) { if (/eval/.test(m[1])) usec+=Number(m[3]); else calls+=Number(m[2]); }
    ((out[name]??={})[n]??=[]).push([ (c.user+c.system)/count, s*1e6/count, usec/count, calls/count, count/t*1000 ]);
  }
}
const med=a=>a.sort((x,y)=>x-y)[a.length>>1];
for (const [name,o] of Object.entries(out)) for (const [n,rows] of Object.entries(o)) console.log(name.padEnd(8),n.padEnd(8),'client µs',med(rows.map(r=>r[0])).toFixed(1),'server µs',med(rows.map(r=>r[1])).toFixed(1),'script µs',med(rows.map(r=>r[2])).toFixed(1),'redis calls',med(rows.map(r=>r[3])).toFixed(2),'per s',med(rows.map(r=>r[4])).toFixed(0));
admin.disconnect(); server.kill(); process.exit(0);
