/** The length of the first complete type of a signature, such as 5 of "a(sv)u". */
function firstTypeLength(signature: string): number {
  const first = signature[0];
  if (first === undefined) throw new Error("a D-Bus signature ends too soon");
  if (first === "a") return 1 + firstTypeLength(signature.slice(1));
  const close = first === "(" ? ")" : first === "{" ? "}" : undefined;
  if (close === undefined) return 1;
  let length = 1;
  while (signature[length] !== close) length += firstTypeLength(signature.slice(length));
  return length + 1;
}

/** The complete types of a signature, one by one. */
export function splitSignature(signature: string): readonly string[] {
  const types: string[] = [];
  for (let rest = signature; rest !== ""; rest = rest.slice(types.at(-1)?.length)) {
    types.push(rest.slice(0, firstTypeLength(rest)));
  }
  return types;
}

/** The boundary that values of a type start at. */
export function alignmentOf(type: string): number {
  switch (type[0]) {
    case "y":
    case "g":
    case "v":
      return 1;
    case "n":
    case "q":
      return 2;
    case "x":
    case "t":
    case "d":
    case "(":
    case "{":
      return 8;
    default:
      return 4;
  }
}
