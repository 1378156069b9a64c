import { quoteText } from "../lib/go-text.ts";
import { err, ok, type Result } from "../lib/result.ts";

export interface ImageName {
  /** With the registry's domain in front, "docker.io/library/" where the name has none. */
  readonly repository: string;
  /** "latest" where the name has neither tag nor digest; "" where it has a digest only. */
  readonly tag: string;
  readonly digest: string;
}

const defaultDomain = "docker.io";
const legacyDefaultDomain = "index.docker.io";
const officialPath = "library/";
const longestPath = 255;

const domainPart = "[a-zA-Z0-9]+(?:-+[a-zA-Z0-9]+)*";
const host = `(?:${domainPart}(?:\\.${domainPart})*|\\[(?:[a-fA-F0-9:]+)\\])`;
const domain = `${host}(?::[0-9]+)?`;
const pathPart = "[a-z0-9]+(?:(?:[._]|__|[-]+)[a-z0-9]+)*";
const path = `${pathPart}(?:/${pathPart})*`;
const tag = "[\\w][\\w.-]{0,127}";
const digest = "[A-Za-z][A-Za-z0-9]*(?:[-_+.][A-Za-z][A-Za-z0-9]*)*[:][0-9A-Fa-f]{32,}";

const referencePattern = new RegExp(`^((?:${domain}/)?${path})(?::(${tag}))?(?:@(${digest}))?$`);
const namePattern = new RegExp(`^(?:(?:${domain})/)?(${path})$`);
const identifierPattern = /^[a-f0-9]{64}$/;
const digestPattern = /^[a-z0-9]+(?:[.+_-][a-z0-9]+)*:[a-zA-Z0-9=_-]+$/;

const hexDigits: ReadonlyMap<string, number> = new Map([
  ["sha256", 64],
  ["sha384", 96],
  ["sha512", 128],
]);

/** Reads an image name as container registries define it. */
export function parseImageName(image: string): Result<ImageName, string> {
  const parsed = parseReference(image);
  if (parsed.ok) return parsed;
  return err(`couldn't parse image name ${quoteText(image)}: ${parsed.error}`);
}

/** The name with ":latest" where it has neither tag nor digest; otherwise as it is, and never with a default registry. */
export function withDefaultTag(image: string): Result<string, string> {
  const parsed = parseImageName(image);
  if (!parsed.ok) return parsed;
  const { tag: wanted, digest: exact } = parsed.value;
  if (exact !== "" || image.endsWith(`:${wanted}`)) return ok(image);
  return ok(`${image}:${wanted}`);
}

function parseReference(image: string): Result<ImageName, string> {
  if (identifierPattern.test(image)) {
    return err(`invalid repository name (${image}), cannot specify 64-byte hexadecimal strings`);
  }
  const normal = normalize(image);
  const colon = normal.remainder.indexOf(":");
  const remote = colon === -1 ? normal.remainder : normal.remainder.slice(0, colon);
  if (remote.toLowerCase() !== remote) {
    return err(`invalid reference format: repository name (${remote}) must be lowercase`);
  }
  const parsed = parsePlainReference(`${normal.domain}/${normal.remainder}`);
  if (!parsed.ok) return parsed;
  const { tag: tagged, digest: digested } = parsed.value;
  return ok({ ...parsed.value, tag: tagged === "" && digested === "" ? "latest" : tagged });
}

/** Reads a name as it stands, without a default registry or tag. */
export function parsePlainReference(text: string): Result<ImageName, string> {
  const match = referencePattern.exec(text);
  if (match === null) {
    if (text === "") return err("repository name must have at least one component");
    const isOnlyUppercase = referencePattern.test(text.toLowerCase());
    return err(isOnlyUppercase ? "repository name must be lowercase" : "invalid reference format");
  }
  const [, repository = "", tagged = "", digested = ""] = match;
  if ((namePattern.exec(repository)?.[1] ?? repository).length > longestPath) {
    return err(`repository name must not be more than ${longestPath} characters`);
  }
  const digestError = digested === "" ? undefined : checkDigest(digested);
  if (digestError !== undefined) return err(digestError);
  return ok({ repository, tag: tagged, digest: digested });
}

/** Splits off the registry; what could as well be a path has the default one. */
function normalize(image: string): { readonly domain: string; readonly remainder: string } {
  const slash = image.indexOf("/");
  const first = image.slice(0, Math.max(slash, 0));
  const isDomain = /[.:]/.test(first) || first === "localhost" || first.toLowerCase() !== first;
  const found = isDomain && first !== legacyDefaultDomain ? first : defaultDomain;
  const remainder = isDomain ? image.slice(slash + 1) : image;
  const isOfficial = found === defaultDomain && !remainder.includes("/");
  return { domain: found, remainder: isOfficial ? officialPath + remainder : remainder };
}

function checkDigest(text: string): string | undefined {
  const colon = text.indexOf(":");
  const algorithm = text.slice(0, colon);
  const encoded = text.slice(colon + 1);
  const length = hexDigits.get(algorithm);
  if (length === undefined) {
    return digestPattern.test(text)
      ? "unsupported digest algorithm"
      : "invalid checksum digest format";
  }
  if (encoded.length !== length) return "invalid checksum digest length";
  return /^[a-f0-9]*$/.test(encoded) ? undefined : "invalid checksum digest format";
}
