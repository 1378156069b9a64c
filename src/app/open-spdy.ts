import type { Duplex } from "node:stream";
import { SpdyConnection } from "../server/spdy/connection.ts";

/** A client's end of a connection that was upgraded to SPDY; `head` = what came right behind the upgrade. */
export function openSpdy(connection: Duplex, head: Buffer): SpdyConnection {
  return new SpdyConnection(connection, head);
}
