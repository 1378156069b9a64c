import { mkdtempSync, rmSync } from "node:fs";
import { createServer, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { GrpcConnection } from "./grpc-connection.ts";

const method = {
  path: "/test.Service/Call",
  serialize: () => Buffer.alloc(0),
  deserialize: (bytes: Buffer) => bytes,
};
/** A frame of HTTP/2: the settings of a server, all of them defaults. */
const settings = Buffer.from([0, 0, 0, 4, 0, 0, 0, 0, 0]);

test("a server that dies before it has read the call is Unavailable", async () => {
  const folder = mkdtempSync(join(tmpdir(), "berth-grpc-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const socketPath = join(folder, "s");
  const sockets: Socket[] = [];
  // Nothing is read: what was sent is lost with the socket, which its other end sees as a reset.
  const server = createServer({ pauseOnConnect: true }, (socket) => {
    sockets.push(socket);
    socket.write(settings);
  });
  onTestFinished(() => void server.close());
  await new Promise<void>((resolve) => {
    server.listen(socketPath, resolve);
  });
  const connection = new GrpcConnection(socketPath, undefined);
  onTestFinished(() => connection.close());
  await connection.whenServed(30_000, AbortSignal.timeout(30_000));
  const called = connection.send(method, {}, undefined, AbortSignal.timeout(30_000));
  sockets[0]?.destroy();
  await expect(called).rejects.toMatchObject({ code: "Unavailable" });
});
