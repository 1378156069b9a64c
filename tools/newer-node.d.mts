export function newerNode(): string;
