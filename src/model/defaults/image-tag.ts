// The grammar of image references, as far as the default pull policy depends on it.
const domainPart = "(?:[a-zA-Z0-9]|[a-zA-Z0-9][a-zA-Z0-9-]*[a-zA-Z0-9])";
const domain = `(?:${domainPart}(?:\\.${domainPart})*|\\[[a-fA-F0-9:]+\\])(?::[0-9]+)?`;
const pathPart = "[a-z0-9]+(?:(?:[._]|__|[-]+)[a-z0-9]+)*";
const path = `${pathPart}(?:/${pathPart})*`;
const digest = "@(?:sha256:[a-f0-9]{64}|sha384:[a-f0-9]{96}|sha512:[a-f0-9]{128})";
const reference = new RegExp(`^(?:${domain}/)?(${path})(?::(\\w[\\w.-]{0,127}))?(${digest})?$`);
const longestPath = 255;

/** Whether an image name means the tag "latest", named or by default; false when it is no image name. */
export function isLatestImage(image: string): boolean {
  if (/^[a-f0-9]{64}$/.test(image)) return false;
  const slash = image.indexOf("/");
  const first = image.slice(0, Math.max(slash, 0));
  const hasDomain = /[.:]/.test(first) || first === "localhost" || first !== first.toLowerCase();
  const match = reference.exec(hasDomain ? image : `docker.io/${image}`);
  if (match === null) return false;
  const isOfficial = !hasDomain && slash === -1;
  const name = isOfficial ? `library/${match[1] ?? ""}` : (match[1] ?? "");
  if (name.length > longestPath) return false;
  return match[2] === undefined ? match[3] === undefined : match[2] === "latest";
}
