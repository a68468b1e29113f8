import { MiniRedis } from './mini-redis/mini-redis.js';
import * as S from '../../lib/stores/redis/scripts.generated.js';
let t = 1760000000123456;
const r = new MiniRedis({ clock: () => t, runId: 'a'.repeat(40) });
const keys = ['k', 'k:queue', 'k:clients'];
const settings = '2000 3000 250 64 2000 ch:';
const self = `- 0 host/1`;
const ev = (s: {lua: string; numberOfKeys: number}, ...a: (string | number)[]) => r.execute('EVAL', [s.lua, '3', ...keys, ...a.map(String)]);
console.log(ev(S.acquire, 'A', 1, t, 3000, 63000, "", 0, "wait", -1, 0, 'lab', settings, self));
t += 1000;
console.log(ev(S.acquire, 'B', 1, t, 3000, 63000, "", 0, "wait", -1, 0, 'lab', settings, self));
console.log(ev(S.heartbeat, 'B', t, 0, 'rolling', 3000, '', 'waiting', '', settings, self));
console.log(ev(S.inspect, 'B', 10));
const g = r.execute('HGETALL', ['k']); console.log(g);
const n = 5000;
const t0 = performance.now();
for (let i = 0; i < n; i++) { t += 10; ev(S.heartbeat, 'B', t, 0, 'rolling', 3000, '', 'waiting', '', settings, self); }
console.log('heartbeat us', (performance.now() - t0) * 1000 / n);
const t1 = performance.now();
let c = 0;
for (let i = 0; i < n; i++) { t += 10; const x = ev(S.acquire, 'C', i, t, 3000, 63000, "", 0, "wait", -1, 0, 'lab', settings, self) as any[]; 
 const h: any = r.execute('HMGET', ['k', 'holder', 'first']);
 ev(S.release, h[0], h[1], 1, 2000, 'waiting', settings, self); c++; }
console.log('acquire+release us', (performance.now() - t1) * 1000 / n);
