export function presentBinary(name: string): string | undefined;
export function redisServerBinary(): Promise<string>;
