import { fcPluginName } from "./fc/fc-disk.ts";
import { iscsiPluginName } from "./iscsi/iscsi-disk.ts";

/**
 * Other names that a disk may have which was found by its folder: there a portal always has a port, and an identifier
 * underscores for blanks, however its volume is written.
 */
export function otherNames(name: string): readonly string[] {
  if (name.startsWith(`${iscsiPluginName}/`)) {
    const short = name.replace(/:3260(?=:(?:iqn|eui)\.)/, "");
    return short === name ? [] : [short];
  }
  if (name.startsWith(`${fcPluginName}/[`) && name.endsWith("]")) {
    const blank = name.replaceAll("_", " ");
    return blank === name ? [] : [blank];
  }
  return [];
}
