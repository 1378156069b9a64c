/** Replaces $(NAME) by what `lookUp` finds; what it does not find stays, and $$ stands for one $. */
export function expand(template: string, lookUp: (name: string) => string | undefined): string {
  return template.replace(/\$(?:\$|\(([^)]*)\))/g, (reference: string, name?: string) =>
    name === undefined ? "$" : (lookUp(name) ?? reference),
  );
}
