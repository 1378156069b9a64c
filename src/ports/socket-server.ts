/** A socket of the agent at which other programs call it. */
export interface SocketServer {
  /** Ends all calls and connections, and removes the socket. */
  close(): Promise<void>;
}
