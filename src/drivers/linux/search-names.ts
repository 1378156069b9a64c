/** What a resolv.conf says about names that are not complete. */
export interface SearchSettings {
  readonly domains: readonly string[];
  /** A name with at least so many dots is tried as it is first. */
  readonly dots: number;
}

const defaultDots = 1;
const maxDots = 15;
const maxDomains = 32;
const maxNameLength = 254;

/** Without a search line the domain of the machine's own name is searched. */
export function parseSearchSettings(text: string, machineName: string): SearchSettings {
  let domains = [machineName.includes(".") ? machineName.slice(machineName.indexOf(".") + 1) : ""];
  let dots = defaultDots;
  for (const line of text.split("\n")) {
    if (line.startsWith(";") || line.startsWith("#")) continue;
    const [keyword, ...values] = line.split(/\s/).filter((word) => word !== "");
    if (keyword === "search") domains = values;
    else if (keyword === "domain") domains = values.slice(0, 1);
    else if (keyword === "options") dots = dotsOption(values) ?? dots;
  }
  const complete = domains.map((domain) => withDot(domain)).filter((domain) => domain !== ".");
  return { domains: complete.slice(0, maxDomains), dots };
}

/** The complete names to try for a name, in order. */
export function searchNames(name: string, { domains, dots }: SearchSettings): readonly string[] {
  if (name.length > maxNameLength) return [];
  if (name.endsWith(".")) return [name];
  const own = `${name}.`;
  const searched = domains
    .map((domain) => `${own}${domain}`)
    .filter((each) => each.length <= maxNameLength);
  return name.split(".").length - 1 >= dots ? [own, ...searched] : [...searched, own];
}

function dotsOption(options: readonly string[]): number | undefined {
  const prefix = "ndots:";
  const option = options.findLast((each) => each.startsWith(prefix));
  if (option === undefined) return undefined;
  const dots = Number(option.slice(prefix.length));
  return Number.isInteger(dots) ? Math.min(Math.max(dots, 0), maxDots) : undefined;
}

function withDot(domain: string): string {
  return domain.endsWith(".") ? domain : `${domain}.`;
}
