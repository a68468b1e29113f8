export function commandLine(env: { readonly REDIS_URL: string; readonly NAMESPACE: string }): string;
