// The command lines of iscsiadm(8). Their order of arguments is that of a kubelet.
import type { IscsiDisk } from "./iscsi-disk.ts";

type Arguments = readonly string[];

/** Where iscsiadm is to act for a disk. */
type Target = Pick<IscsiDisk, "iqn" | "interface">;

export function showInterface(name: string): Arguments {
  return interfaceCommand(name, "show");
}

export function newInterface(name: string): Arguments {
  return interfaceCommand(name, "new");
}

export function updateInterface(name: string, key: string, value: string): Arguments {
  return [...interfaceCommand(name, "update"), "-n", key, "-v", value];
}

export function deleteInterface(name: string): Arguments {
  return interfaceCommand(name, "delete");
}

export function newDiscovery(portal: string, { interface: name }: Target): Arguments {
  return [...discovery(portal, name), "-o", "new"];
}

export function updateDiscovery(
  portal: string,
  { interface: name }: Target,
  key: string,
  value: string,
): Arguments {
  return [...discovery(portal, name), "-o", "update", "-n", key, "-v", value];
}

export function discover(portal: string, { interface: name }: Target): Arguments {
  return [...discovery(portal, name), "--discover"];
}

export function deleteDiscovery(portal: string, { interface: name }: Target): Arguments {
  return [...discovery(portal, name), "-o", "delete"];
}

export function updateNode(portal: string, target: Target, key: string, value: string): Arguments {
  return [...nodeOf(portal, target), "-o", "update", "-n", key, "-v", value];
}

export function login(portal: string, target: Target): Arguments {
  return [...nodeOf(portal, target), "--login"];
}

/** Forgets a node that could not be logged in to. */
export function deleteFailedNode(portal: string, { iqn, interface: name }: Target): Arguments {
  return ["iscsiadm", "-m", "node", "-p", portal, "-I", name, "-T", iqn, "-o", "delete"];
}

/** Keeps the machine from waiting for the target when it boots. */
export function startManually(portal: string, iqn: string): Arguments {
  return [...node(portal, iqn), "-o", "update", "-n", "node.startup", "-v", "manual"];
}

export function logout(portal: string, iqn: string, interfaceName: string | undefined): Arguments {
  return [...node(portal, iqn), "--logout", ...byInterface(interfaceName)];
}

export function deleteNode(
  portal: string,
  iqn: string,
  interfaceName: string | undefined,
): Arguments {
  return [...node(portal, iqn), "-o", "delete", ...byInterface(interfaceName)];
}

function interfaceCommand(name: string, operation: string): Arguments {
  return ["iscsiadm", "-m", "iface", "-I", name, "-o", operation];
}

function discovery(portal: string, interfaceName: string): Arguments {
  return ["iscsiadm", "-m", "discoverydb", "-t", "sendtargets", "-p", portal, "-I", interfaceName];
}

function node(portal: string, iqn: string): Arguments {
  return ["iscsiadm", "-m", "node", "-p", portal, "-T", iqn];
}

function nodeOf(portal: string, { iqn, interface: name }: Target): Arguments {
  return [...node(portal, iqn), "-I", name];
}

function byInterface(name: string | undefined): Arguments {
  return name === undefined ? [] : ["-I", name];
}
