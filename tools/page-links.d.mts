export function linksOf(text: string): string[];
export function namedPagesOf(text: string): string[];
