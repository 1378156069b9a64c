export type PluginEntryKind = "folder" | "socket" | "other";

/**
 * What an entry of the plugin folder is for. Hidden sockets never count. Hidden folders count when they are found in a
 * folder that is read whole, but not when they are created in one that is watched: the kubelet does so too.
 */
export function pluginEntryUse(
  name: string,
  kind: PluginEntryKind,
  isCreated: boolean,
): "register" | "watch" | "ignore" {
  const isHidden = name.startsWith(".");
  switch (kind) {
    case "socket":
      return isHidden ? "ignore" : "register";
    case "folder":
      return isHidden && isCreated ? "ignore" : "watch";
    case "other":
      return "ignore";
  }
}
