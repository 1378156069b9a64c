import { quoteText } from "../../../lib/go-text.ts";
import { isExtendedResource } from "../../../model/validate/resource-names.ts";

const supportedVersion = "v1beta1";

/** Why a plugin that called the kubelet's Register is refused. */
export function registrationProblem(version: string, resource: string): string | undefined {
  if (version !== supportedVersion) {
    return `requested API version ${quoteText(version)} is not supported by kubelet. Supported version is [${quoteText(supportedVersion)}]`;
  }
  return resourceProblem(resource);
}

/** Why a plugin that was found in the folder of registration sockets is refused. */
export function watchedPluginProblem(
  resource: string,
  versions: readonly string[],
): string | undefined {
  if (!versions.includes(supportedVersion)) {
    return `manager version, ${supportedVersion}, is not among plugin supported versions [${versions.join(" ")}]`;
  }
  const problem = resourceProblem(resource);
  return problem === undefined ? undefined : `invalid name of device plugin socket: ${problem}`;
}

export function optionsProblem(error: string): string {
  return `failed to get device plugin options: ${error}`;
}

function resourceProblem(resource: string): string | undefined {
  return isExtendedResource(resource)
    ? undefined
    : `the ResourceName ${quoteText(resource)} is invalid`;
}
