import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { rmSync, writeFileSync } from "node:fs";
import { type AddressInfo, createServer } from "node:net";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { busyboxArchive } from "../../../tools/images/busybox-image.ts";
import { readTarFiles } from "./tar-files.ts";
import { makeTestFolder } from "./test-folder.ts";

/** Who may use a registry that wants a login; the hash is bcrypt's, as an htpasswd file has it. */
export const registryUser = {
  username: "tester",
  password: "berth-canary-3f9a1c",
  hash: "$2b$04$BG4DmbNqnFBkmW6F8PHoTOUe/mCCiOwg72JGRdEs2Wfruf/hGwnz.",
};

interface RegistryOptions {
  /** Nothing is served without the login of `registryUser`. */
  readonly wantsLogin?: boolean;
}

interface Descriptor {
  readonly digest: string;
  readonly mediaType: string;
}

/** A registry of images on loopback that can be killed and started again. */
export class Registry {
  readonly #folder: string;
  readonly #port: number;
  readonly #wantsLogin: boolean;
  #process: ChildProcess | undefined;

  private constructor(folder: string, port: number, wantsLogin: boolean) {
    this.#folder = folder;
    this.#port = port;
    this.#wantsLogin = wantsLogin;
  }

  static async start({ wantsLogin = false }: RegistryOptions = {}): Promise<Registry> {
    const folder = makeTestFolder("registry");
    const registry = new Registry(folder, await freePort(), wantsLogin);
    await registry.run();
    return registry;
  }

  /** As images name it. */
  get address(): string {
    return `127.0.0.1:${this.#port}`;
  }

  get port(): number {
    return this.#port;
  }

  /** Starts it again after `kill`. */
  async run(): Promise<void> {
    writeFileSync(
      join(this.#folder, "htpasswd"),
      `${registryUser.username}:${registryUser.hash}\n`,
    );
    const config = join(this.#folder, "config.json");
    writeFileSync(config, JSON.stringify(this.#config()));
    const child = spawn("docker-registry", ["serve", config], {
      stdio: ["ignore", "ignore", "pipe"],
    });
    this.#process = child;
    for await (const line of createInterface({ input: child.stderr })) {
      if (line.includes("listening on")) {
        child.stderr.resume();
        return;
      }
    }
    throw new Error("docker-registry ended before it listened");
  }

  async kill(): Promise<void> {
    const child = this.#process;
    this.#process = undefined;
    if (child === undefined || child.exitCode !== null) return;
    const ended = once(child, "exit");
    child.kill("SIGKILL");
    await ended;
  }

  async close(): Promise<void> {
    await this.kill();
    rmSync(this.#folder, { recursive: true, force: true });
  }

  /** Makes an image of busybox with one more file, and puts it there; answers the manifest's digest. */
  async push(repository: string, tag: string, content: Uint8Array | string): Promise<string> {
    const data = Buffer.from(content);
    const archive = await busyboxArchive({
      names: [`${this.address}/${repository}:${tag}`],
      files: [{ kind: "file", path: "content", mode: 0o644, data }],
      config: { Cmd: ["sh"] },
    });
    const files = readTarFiles(archive);
    const blob = (digest: string): Buffer => fileOf(files, `blobs/${digest.replace(":", "/")}`);
    const index: { manifests: readonly Descriptor[] } = JSON.parse(
      fileOf(files, "index.json").toString(),
    );
    const [entry] = index.manifests;
    if (entry === undefined) throw new Error("the archive has no image");
    const manifest: { config: Descriptor; layers: readonly Descriptor[] } = JSON.parse(
      blob(entry.digest).toString(),
    );
    for (const { digest } of [manifest.config, ...manifest.layers]) {
      await this.#upload(repository, digest, blob(digest));
    }
    const put = await this.#request("PUT", `/v2/${repository}/manifests/${tag}`, {
      body: new Uint8Array(blob(entry.digest)),
      type: entry.mediaType,
    });
    return put.headers.get("docker-content-digest") ?? entry.digest;
  }

  async #upload(repository: string, digest: string, data: Buffer): Promise<void> {
    const started = await this.#request("POST", `/v2/${repository}/blobs/uploads/`);
    const target = new URL(started.headers.get("location") ?? "", `http://${this.address}`);
    target.searchParams.set("digest", digest);
    await this.#request("PUT", target.pathname + target.search, {
      body: new Uint8Array(data),
      type: "application/octet-stream",
    });
  }

  async #request(
    method: string,
    path: string,
    content?: { readonly body: Uint8Array<ArrayBuffer>; readonly type: string },
  ): Promise<Response> {
    const login = Buffer.from(`${registryUser.username}:${registryUser.password}`);
    const headers = {
      ...(this.#wantsLogin ? { authorization: `Basic ${login.toString("base64")}` } : {}),
      ...(content === undefined ? {} : { "content-type": content.type }),
    };
    const response = await fetch(`http://${this.address}${path}`, {
      method,
      headers,
      ...(content === undefined ? {} : { body: content.body }),
    });
    if (response.ok) return response;
    throw new Error(`${method} ${path}: ${response.status} ${await response.text()}`);
  }

  #config(): unknown {
    const htpasswd = { realm: "test", path: join(this.#folder, "htpasswd") };
    return {
      version: "0.1",
      log: { level: "info", accesslog: { disabled: true } },
      storage: { filesystem: { rootdirectory: join(this.#folder, "data") } },
      http: { addr: this.address, host: `http://${this.address}` },
      ...(this.#wantsLogin ? { auth: { htpasswd } } : {}),
    };
  }
}

function fileOf(files: ReadonlyMap<string, Buffer>, path: string): Buffer {
  const data = files.get(path);
  if (data === undefined) throw new Error(`the archive has no ${path}`);
  return data;
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  // A server on a port has an address with a port.
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, "close");
  return port;
}
