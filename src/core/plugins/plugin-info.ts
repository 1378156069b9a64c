/** What a plugin answers about itself. */
export interface PluginInfo {
  /** Such as CSIPlugin. */
  readonly type: string;
  readonly name: string;
  /** Where it serves; empty = at the socket it registers with. */
  readonly endpoint: string;
  readonly supportedVersions: readonly string[];
}

const maxNameLength = 1024;
/** The longest path that Linux has. */
const maxEndpointLength = 4096;
const maxVersions = 64;
const maxVersionLength = 128;

/** Why an answer is refused before any handler sees it: no honest plugin comes near these limits. */
export function pluginInfoProblem(info: PluginInfo): string | undefined {
  const { type, name, endpoint, supportedVersions: versions } = info;
  if (type.length > maxNameLength) return tooLong("type", type.length, maxNameLength);
  if (name.length > maxNameLength) return tooLong("name", name.length, maxNameLength);
  if (endpoint.length > maxEndpointLength) {
    return tooLong("endpoint", endpoint.length, maxEndpointLength);
  }
  if (versions.length > maxVersions) {
    return `the plugin has ${versions.length} supported versions, at most ${maxVersions} are allowed`;
  }
  const longest = Math.max(0, ...versions.map(({ length }) => length));
  if (longest > maxVersionLength) return tooLong("supported version", longest, maxVersionLength);
  return undefined;
}

function tooLong(field: string, length: number, most: number): string {
  return `the ${field} of the plugin has ${length} characters, at most ${most} are allowed`;
}
