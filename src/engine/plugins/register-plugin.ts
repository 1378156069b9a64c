import { type PluginInfo, pluginInfoProblem } from "../../core/plugins/plugin-info.ts";
import { err, ok, type Result } from "../../lib/result.ts";
import { runtimeErrorText } from "../../model/runtime-error.ts";
import type { PluginClient, PluginSockets } from "../../ports/plugin-sockets.ts";
import type { PluginHandler } from "./plugin-handler.ts";

const dialTimeoutMs = 10_000;
const infoTimeoutMs = 1000;
const notifyTimeoutMs = 5000;
/** A driver chooses part of the text, for example by its topology. */
const maxErrorLength = 4096;

/** Why a plugin is not registered, as far as it has to know. */
const failed = "RegisterPlugin error --";

export interface RegistrationDeps {
  readonly sockets: Pick<PluginSockets, "connect">;
  /** By the type of plugin. */
  readonly handlers: ReadonlyMap<string, PluginHandler>;
}

type AcceptedPlugin = Pick<PluginInfo, "type" | "name" | "endpoint">;

/** One handshake with the plugin behind a socket, from the connection to the notification of how it went. */
export async function registerPlugin(
  { sockets, handlers }: RegistrationDeps,
  socketPath: string,
  signal: AbortSignal,
): Promise<Result<AcceptedPlugin, string>> {
  let client: PluginClient;
  try {
    client = await sockets.connect(socketPath, dialTimeoutMs, signal);
  } catch (error) {
    signal.throwIfAborted();
    return err(`${failed} dial failed at socket ${socketPath}, err: ${runtimeErrorText(error)}`);
  }
  try {
    return await shakeHands({ client, handlers, socketPath }, signal);
  } finally {
    client.close();
  }
}

interface Handshake {
  readonly client: PluginClient;
  readonly handlers: ReadonlyMap<string, PluginHandler>;
  readonly socketPath: string;
}

async function shakeHands(
  shake: Handshake,
  signal: AbortSignal,
): Promise<Result<AcceptedPlugin, string>> {
  const { client, socketPath } = shake;
  const answered = await readInfo(client, socketPath, signal);
  if (!answered.ok) return answered;
  const plugin = {
    ...answered.value,
    endpoint: answered.value.endpoint === "" ? socketPath : answered.value.endpoint,
  };
  const { type, name, endpoint } = plugin;
  const accepted = choose(shake, plugin);
  if (!accepted.ok) return await refuse(shake, accepted.error, signal);
  const handler = accepted.value;
  const taken = await handler.register(plugin, signal);
  if (!taken.ok) {
    const text = `${failed} plugin registration failed with err: ${taken.error}`;
    return await refuse(shake, text, signal);
  }
  const problem = await notify(client, { pluginRegistered: true, error: "" }, signal);
  if (problem === undefined) return ok({ type, name, endpoint });
  await handler.deregister(plugin, signal);
  return err(
    `${failed} failed to send registration status at socket ${socketPath}, err: ${problem}`,
  );
}

async function readInfo(
  client: PluginClient,
  socketPath: string,
  signal: AbortSignal,
): Promise<Result<PluginInfo, string>> {
  try {
    return ok(await client.getInfo(infoTimeoutMs, signal));
  } catch (error) {
    signal.throwIfAborted();
    const text = `failed to get plugin info using RPC GetInfo at socket ${socketPath}`;
    return err(`${failed} ${text}, err: ${runtimeErrorText(error)}`);
  }
}

/** The handler for a plugin that may be registered. */
function choose(
  { handlers, socketPath }: Handshake,
  plugin: PluginInfo,
): Result<PluginHandler, string> {
  const problem = pluginInfoProblem(plugin);
  if (problem !== undefined) return err(`${failed} ${problem} at socket ${socketPath}`);
  const handler = handlers.get(plugin.type);
  if (handler === undefined) {
    return err(
      `${failed} no handler registered for plugin type: ${plugin.type} at socket ${socketPath}`,
    );
  }
  const valid = handler.validate(plugin);
  return valid.ok
    ? ok(handler)
    : err(`${failed} plugin validation failed with err: ${valid.error}`);
}

/** Sends the plugin why it is not registered. */
async function refuse(
  { client, socketPath }: Handshake,
  problem: string,
  signal: AbortSignal,
): Promise<Result<never, string>> {
  const text = problem.slice(0, maxErrorLength);
  const unsent = await notify(client, { pluginRegistered: false, error: text }, signal);
  if (unsent === undefined) return err(text);
  return err(`${failed} failed to send error at socket ${socketPath}, err: ${text}: ${unsent}`);
}

async function notify(
  client: PluginClient,
  status: { readonly pluginRegistered: boolean; readonly error: string },
  signal: AbortSignal,
): Promise<string | undefined> {
  try {
    await client.notifyRegistrationStatus(status, notifyTimeoutMs, signal);
    return undefined;
  } catch (error) {
    signal.throwIfAborted();
    return runtimeErrorText(error);
  }
}
