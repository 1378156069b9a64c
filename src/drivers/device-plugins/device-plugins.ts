import { mkdir, opendir, unlink } from "node:fs/promises";
import { dirname, join } from "node:path";
import { Empty, RegistrationService } from "../../generated/device-plugin.ts";
import type { DevicePluginRegistration, DevicePlugins } from "../../ports/device-plugins.ts";
import type { SocketServer } from "../../ports/socket-server.ts";
import { grpcHandler, serveGrpc } from "../grpc/grpc-server.ts";
import { connectDevicePlugin } from "./device-plugin-client.ts";

/** The kubelet's own. */
const folderMode = 0o750;

/** Device plugins over gRPC. */
export const devicePlugins: DevicePlugins = {
  serve: serveRegistration,
  connect: (socketPath, signal) => connectDevicePlugin(socketPath, signal),
};

async function serveRegistration(
  socketPath: string,
  registration: DevicePluginRegistration,
): Promise<SocketServer> {
  const folder = dirname(socketPath);
  await mkdir(folder, { recursive: true, mode: folderMode });
  await removeSockets(folder);
  const register = grpcHandler(RegistrationService.register, Empty, async (request, signal) => {
    await registration.register(request, signal);
    return {};
  });
  return serveGrpc({ socketPath, handlers: [register] });
}

/** Folders, files (the checkpoint is one) and links stay. */
async function removeSockets(folder: string): Promise<void> {
  for await (const entry of await opendir(folder)) {
    if (entry.isSocket()) await unlink(join(folder, entry.name));
  }
}
