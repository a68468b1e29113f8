import { lauxlib, lua, lualib, to_luastring, type LuaState } from 'fengari';
import ldo from 'fengari/src/ldo.js';
import lobject from 'fengari/src/lobject.js';
import { countAsRedisDoes } from './lua-numbers.js';
import { formatNumber, RedisError, Status, type Reply } from './reply.js';

/** Runs a command on behalf of a script. */
export type ScriptCall = (name: string, args: string[]) => Reply;

/** What fengari has and the Lua of Redis lacks, or has under another name. */
const PRELUDE = `
unpack = table.unpack
redis.error_reply = function(text) return { err = text } end
table.unpack, table.pack, table.move, string.pack, string.unpack, math.type, math.tointeger = nil
utf8, os, io, coroutine, require, package, load, loadfile, dofile, debug, print = nil
setmetatable(_G, {
  __newindex = function(_, name) error('Script attempted to access nonexistent global variable \\'' .. name .. '\\'') end,
  __index = function(_, name) error('Script attempted to access nonexistent global variable \\'' .. name .. '\\'') end
})
`;

/** fengari deletes what it takes from its stack, which turns the array into a slow one. The same, without that. */
function keepStackFast(): void {
  ldo.adjust_top = (state, top) => {
    const { stack } = state;
    while (state.top < top) stack[state.top++] = new lobject.TValue(lua.LUA_TNIL, null);
    while (state.top > top) stack[--state.top] = undefined;
  };
}

/** At most so many scripts stay compiled: clients with other options have other scripts. */
const MOST_COMPILED = 100;

/** The Lua of the simulated server: the scripts used last stay compiled, also from one run to the next. */
export class LuaRuntime {
  private readonly state: LuaState;
  private readonly compiled = new Map<string, number>();
  private call: ScriptCall = () => new RedisError('ERR no script runs');

  constructor() {
    countAsRedisDoes();
    keepStackFast();
    const state = lauxlib.luaL_newstate();
    this.state = state;
    lualib.luaL_openlibs(state);
    lua.lua_createtable(state, 0, 2);
    lua.lua_pushcfunction(state, (inner) => this.fromScript(inner, true));
    lua.lua_setfield(state, -2, to_luastring('call'));
    lua.lua_pushcfunction(state, (inner) => this.fromScript(inner, false));
    lua.lua_setfield(state, -2, to_luastring('pcall'));
    lua.lua_setglobal(state, to_luastring('redis'));
    for (const name of ['KEYS', 'ARGV']) {
      lua.lua_createtable(state, 0, 0);
      lua.lua_setglobal(state, to_luastring(name));
    }
    if (lauxlib.luaL_dostring(state, to_luastring(PRELUDE))) throw new Error(lua.lua_tojsstring(state, -1));
  }

  run(source: string, keys: string[], args: string[], call: ScriptCall): Reply {
    const { state } = this;
    const reference = this.compile(source);
    if (reference instanceof RedisError) return reference;
    this.call = call;
    this.setTable('KEYS', keys);
    this.setTable('ARGV', args);
    lua.lua_rawgeti(state, lua.LUA_REGISTRYINDEX, reference);
    const failed = lua.lua_pcall(state, 0, 1, 0) !== lua.LUA_OK;
    const reply = this.read(state, -1);
    lua.lua_settop(state, 0);
    if (!failed || reply instanceof RedisError) return reply;
    return new RedisError(`ERR ${JSON.stringify(reply)}`);
  }

  private compile(source: string): number | RedisError {
    const known = this.compiled.get(source);
    if (known !== undefined) {
      this.compiled.delete(source);
      this.compiled.set(source, known);
      return known;
    }
    if (lauxlib.luaL_loadstring(this.state, to_luastring(source)) !== lua.LUA_OK) {
      const text = lua.lua_tojsstring(this.state, -1);
      lua.lua_settop(this.state, 0);
      return new RedisError(`ERR Error compiling script: ${text}`);
    }
    const reference = lauxlib.luaL_ref(this.state, lua.LUA_REGISTRYINDEX);
    this.compiled.set(source, reference);
    const [oldest] = this.compiled;
    if (oldest && this.compiled.size > MOST_COMPILED) {
      this.compiled.delete(oldest[0]);
      lauxlib.luaL_unref(this.state, lua.LUA_REGISTRYINDEX, oldest[1]);
    }
    return reference;
  }

  private setTable(name: string, values: string[]): void {
    this.push(values);
    lua.lua_setglobal(this.state, to_luastring(name));
  }

  /** redis.call and redis.pcall. */
  private fromScript(state: LuaState, raises: boolean): number {
    const args: string[] = [];
    for (let i = 1; i <= lua.lua_gettop(state); i++) {
      const type = lua.lua_type(state, i);
      if (type === lua.LUA_TSTRING) args.push(lua.lua_tojsstring(state, i));
      else if (type === lua.LUA_TNUMBER) args.push(formatNumber(lua.lua_tonumber(state, i)));
      else return this.fail(state, 'ERR Lua redis lib command arguments must be strings or integers', raises);
    }
    const reply = this.call(args[0] ?? '', args.slice(1));
    if (reply instanceof RedisError) return this.fail(state, reply.text, raises);
    this.push(reply);
    return 1;
  }

  private fail(state: LuaState, text: string, raises: boolean): number {
    this.push(new RedisError(text));
    return raises ? lua.lua_error(state) : 1;
  }

  private push(reply: Reply): void {
    const { state } = this;
    if (reply === null) lua.lua_pushboolean(state, false);
    else if (typeof reply === 'number') lua.lua_pushnumber(state, reply);
    else if (typeof reply === 'string') lua.lua_pushstring(state, to_luastring(reply));
    else if (Array.isArray(reply)) {
      lua.lua_createtable(state, reply.length, 0);
      reply.forEach((item, i) => {
        this.push(item);
        lua.lua_rawseti(state, -2, i + 1);
      });
    } else {
      lua.lua_createtable(state, 0, 1);
      lua.lua_pushstring(state, to_luastring(reply.text));
      lua.lua_setfield(state, -2, to_luastring(reply instanceof Status ? 'ok' : 'err'));
    }
  }

  /** From Lua to a reply, as Redis converts: whole numbers, arrays up to the first nil. */
  private read(state: LuaState, index: number): Reply {
    const type = lua.lua_type(state, index);
    if (type === lua.LUA_TSTRING) return lua.lua_tojsstring(state, index);
    if (type === lua.LUA_TNUMBER) return Math.trunc(lua.lua_tonumber(state, index));
    if (type === lua.LUA_TBOOLEAN) return lua.lua_toboolean(state, index) ? 1 : null;
    if (type !== lua.LUA_TTABLE) return null;
    for (const [field, Kind] of [['err', RedisError] as const, ['ok', Status] as const]) {
      const found = lua.lua_getfield(state, index, to_luastring(field)) === lua.LUA_TSTRING;
      const text = found ? lua.lua_tojsstring(state, -1) : '';
      lua.lua_settop(state, -2);
      if (found) return new Kind(text);
    }
    const items: Reply[] = [];
    for (let i = 1; ; i++) {
      const isNil = lua.lua_rawgeti(state, index, i) === lua.LUA_TNIL;
      if (!isNil) items.push(this.read(state, -1));
      lua.lua_settop(state, -2);
      if (isNil) return items;
    }
  }
}
