/** The part of fengari that the simulator uses; the package has no types of its own. */
declare module 'fengari' {
  export type LuaState = object;
  type LuaString = Uint8Array;
  type LuaFunction = (state: LuaState) => number;

  export const lua: {
    LUA_TNIL: number;
    LUA_TBOOLEAN: number;
    LUA_TNUMBER: number;
    LUA_TSTRING: number;
    LUA_TTABLE: number;
    LUA_OK: number;
    LUA_REGISTRYINDEX: number;
    lua_gettop(state: LuaState): number;
    lua_settop(state: LuaState, top: number): void;
    lua_type(state: LuaState, index: number): number;
    lua_tonumber(state: LuaState, index: number): number;
    lua_toboolean(state: LuaState, index: number): boolean;
    lua_tojsstring(state: LuaState, index: number): string;
    lua_pushnumber(state: LuaState, value: number): void;
    lua_pushboolean(state: LuaState, value: boolean): void;
    lua_pushstring(state: LuaState, value: LuaString): void;
    lua_pushcfunction(state: LuaState, value: LuaFunction): void;
    lua_createtable(state: LuaState, array: number, records: number): void;
    lua_rawseti(state: LuaState, index: number, position: number): void;
    lua_rawgeti(state: LuaState, index: number, position: number): number;
    lua_setfield(state: LuaState, index: number, name: LuaString): void;
    lua_getfield(state: LuaState, index: number, name: LuaString): number;
    lua_setglobal(state: LuaState, name: LuaString): void;
    lua_pcall(state: LuaState, args: number, results: number, handler: number): number;
    lua_error(state: LuaState): number;
  };
  export const lauxlib: {
    luaL_newstate(): LuaState;
    luaL_loadstring(state: LuaState, source: LuaString): number;
    luaL_dostring(state: LuaState, source: LuaString): boolean | number;
    luaL_ref(state: LuaState, index: number): number;
    luaL_unref(state: LuaState, index: number, reference: number): void;
  };
  export const lualib: { luaL_openlibs(state: LuaState): void };
  export function to_luastring(text: string): LuaString;
}

declare module 'fengari/src/lobject.js' {
  interface Cell {
    readonly value: number;
    setfltvalue(value: number): void;
    setsvalue(value: object): void;
  }
  const lobject: {
    readonly TValue: new (type: number, value: unknown) => Cell;
    luaO_str2num(text: Uint8Array, into: Cell): number;
    luaO_tostring(state: object, cell: Cell): void;
    luaO_pushvfstring(state: object, format: Uint8Array, values: unknown[]): unknown;
  };
  export default lobject;
}

declare module 'fengari/src/lstring.js' {
  const lstring: { luaS_bless(state: object, text: Uint8Array): object };
  export default lstring;
}

declare module 'fengari/src/ldo.js' {
  const ldo: { adjust_top(state: { top: number; readonly stack: unknown[] }, top: number): void };
  export default ldo;
}
