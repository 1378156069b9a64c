// The registry on real sockets: the driver's watch and client, and plugins that serve gRPC.
import { mkdir, mkdtemp, rename, rm, stat, symlink, writeFile } from "node:fs/promises";
import { createServer, type Server } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { type PluginBehaviour, RegisteringPlugin } from "../../../test/kit/registering-plugin.ts";
import { silentLog } from "../../../test/kit/silent-log.ts";
import { systemClock } from "../../drivers/linux/system-clock.ts";
import { pluginSockets } from "../../drivers/plugins/plugin-sockets.ts";
import { err, ok, type Result } from "../../lib/result.ts";
import type { PluginHandler } from "./plugin-handler.ts";
import { PluginRegistry } from "./plugin-registry.ts";

let base: string;
let folder: string;
let calls: string[];
let validation: Result<void, string>;
let stop: AbortController;
let running: Promise<void>;
let registry: PluginRegistry;
const plugins: RegisteringPlugin[] = [];
const servers: Server[] = [];

const handler: PluginHandler = {
  validate: ({ name }) => {
    calls.push(`validate ${name}`);
    return validation;
  },
  register: async ({ name, endpoint }) => {
    calls.push(`register ${name} ${endpoint.replace(base, "")}`);
    return ok(undefined);
  },
  deregister: async ({ name }) => {
    calls.push(`deregister ${name}`);
  },
};

beforeEach(async () => {
  base = await mkdtemp(join(tmpdir(), "berth-plugins-"));
  folder = join(base, "plugins_registry");
  calls = [];
  validation = ok(undefined);
  stop = new AbortController();
  registry = new PluginRegistry({
    sockets: pluginSockets,
    folder,
    clock: systemClock,
    log: silentLog,
  });
  registry.addHandler("CSIPlugin", handler);
  running = registry.run(stop.signal);
});

afterEach(async () => {
  stop.abort();
  await running;
  for (const plugin of plugins.splice(0)) await plugin.stop();
  for (const server of servers.splice(0)) server.close();
  await rm(base, { recursive: true });
});

async function start(name: string, behaviour: PluginBehaviour): Promise<RegisteringPlugin> {
  const plugin = new RegisteringPlugin(join(folder, name), behaviour);
  await plugin.start();
  plugins.push(plugin);
  return plugin;
}

function until(check: () => void | Promise<void>): Promise<void> {
  return vi.waitFor(check, { timeout: 25_000, interval: 10 });
}

/** The folder is there, and so is its watch. */
async function whenWatched(): Promise<void> {
  await until(async () => expect((await stat(folder)).isDirectory()).toBe(true));
  await start("first.sock", { name: "first" });
  await until(() => expect(calls).toContain("register first /plugins_registry/first.sock"));
  calls.length = 0;
}

test("a plugin is validated, registered and notified, and unregistered when its socket goes", async () => {
  await whenWatched();
  const plugin = await start("a.sock", { name: "csi.example", endpoint: "/var/lib/csi.sock" });
  await until(() => expect(plugin.notifications).toHaveLength(1));
  expect(plugin.notifications).toEqual([{ pluginRegistered: true, error: "" }]);
  expect(calls).toEqual(["validate csi.example", "register csi.example /var/lib/csi.sock"]);
  await until(() => expect(registry.plugins.map(({ name }) => name)).toContain("csi.example"));
  await plugin.stop();
  await until(() => expect(calls).toContain("deregister csi.example"));
  expect(registry.plugins.map(({ name }) => name)).toEqual(["first"]);
});

test("a socket that is created again is registered again", async () => {
  await whenWatched();
  const old = await start("a.sock", { name: "old" });
  await until(() => expect(old.notifications).toHaveLength(1));
  await old.stop();
  const young = await start("a.sock", { name: "new" });
  await until(() => expect(young.notifications).toHaveLength(1));
  expect(calls).toEqual([
    "validate old",
    "register old /plugins_registry/a.sock",
    "deregister old",
    "validate new",
    "register new /plugins_registry/a.sock",
  ]);
});

test("sockets in subfolders count, also in those that are made, moved away and made again", async () => {
  await whenWatched();
  const sub = join(folder, "vendor", "driver");
  await mkdir(sub, { recursive: true });
  const plugin = await start("vendor/driver/a.sock", { name: "deep" });
  await until(() => expect(plugin.notifications).toHaveLength(1));
  await rename(join(folder, "vendor"), join(base, "elsewhere"));
  await until(() => expect(calls).toContain("deregister deep"));
  await mkdir(sub, { recursive: true });
  const again = await start("vendor/driver/a.sock", { name: "again" });
  await until(() => expect(again.notifications).toHaveLength(1));
});

test("the folder is made again when it is removed, and its plugins are found", async () => {
  await whenWatched();
  await rm(folder, { recursive: true });
  await until(() => expect(calls).toContain("deregister first"));
  await until(async () => expect((await stat(folder)).isDirectory()).toBe(true));
  await start("b.sock", { name: "back" });
  await until(() => expect(calls).toContain("register back /plugins_registry/b.sock"));
});

test("a plugin that is refused is notified why, and is asked again after a pause", async () => {
  await whenWatched();
  validation = err("no such version");
  const plugin = await start("a.sock", { name: "csi.example" });
  await until(() => expect(plugin.notifications).toHaveLength(1));
  expect(plugin.notifications[0]).toEqual({
    pluginRegistered: false,
    error: "RegisterPlugin error -- plugin validation failed with err: no such version",
  });
  validation = ok(undefined);
  await until(() => expect(plugin.notifications).toHaveLength(2));
  expect(plugin.notifications[1]).toEqual({ pluginRegistered: true, error: "" });
});

test("a plugin of an unknown type is notified that it has no handler", async () => {
  await whenWatched();
  const plugin = await start("a.sock", { name: "other", type: "OtherPlugin" });
  await until(() => expect(plugin.notifications).toHaveLength(1));
  expect(plugin.notifications[0]?.error).toContain("no handler registered for plugin type");
});

test("a plugin that does not take the notification is unregistered again", async () => {
  await whenWatched();
  await start("a.sock", { name: "deaf", notifyError: "no thanks" });
  await until(() => expect(calls).toContain("deregister deaf"));
  expect(registry.plugins.map(({ name }) => name)).toEqual(["first"]);
});

test("one that hangs, in a call or before it speaks at all, does not delay other plugins", async () => {
  await whenWatched();
  const silent = createServer();
  servers.push(silent);
  await new Promise<void>((resolve) => silent.listen(join(folder, "silent.sock"), resolve));
  const hung = await start("hung.sock", { name: "hung", hangs: true });
  await until(() => expect(hung.infoCalls).toBeGreaterThan(0));
  const plugin = await start("a.sock", { name: "quick" });
  await until(() => expect(plugin.notifications).toHaveLength(1));
  expect(calls).not.toContain("validate hung");
  // Asked again, because its call has a deadline.
  await until(() => expect(hung.infoCalls).toBeGreaterThan(1));
});

test("an answer that is too large is refused", async () => {
  await whenWatched();
  const names = await start("a.sock", { name: "n".repeat(2000) });
  await until(() => expect(names.notifications).toHaveLength(1));
  expect(names.notifications[0]?.error).toContain("the name of the plugin has 2000 characters");
  const huge = await start("b.sock", { name: "huge", supportedVersions: ["1".repeat(1_000_000)] });
  await until(() => expect(huge.infoCalls).toBeGreaterThan(1));
  expect(huge.notifications).toEqual([]);
  expect(calls).toEqual([]);
});

test("hidden sockets, files and links are ignored", async () => {
  await whenWatched();
  const outside = new RegisteringPlugin(join(base, "outside.sock"), { name: "outside" });
  plugins.push(outside);
  await outside.start();
  await symlink(join(base, "outside.sock"), join(folder, "link.sock"));
  await symlink("/", join(folder, "root"));
  await writeFile(join(folder, "file.sock"), "");
  await start(".hidden.sock", { name: "hidden" });
  await start("last.sock", { name: "last" });
  await until(() => expect(calls).toContain("validate last"));
  expect(calls.filter((call) => call.startsWith("validate"))).toEqual(["validate last"]);
});
