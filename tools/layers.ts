// The one table of layers: the lint configuration is generated from it and test/layers.test.ts checks it.

export interface Layer {
  /** Other layers that files of this one may import. Its own files are always allowed. */
  readonly imports: readonly string[];
  /** May it see Node's modules and npm packages? */
  readonly world: boolean;
  /** Pure: no clock, randomness, timers, process or network, not even as globals. */
  readonly pure: boolean;
}

export const layers: Readonly<Record<string, Layer>> = {
  lib: { imports: [], world: false, pure: false },
  model: { imports: ["lib"], world: false, pure: true },
  core: { imports: ["model", "lib"], world: false, pure: true },
  config: { imports: ["model", "lib"], world: false, pure: true },
  ports: { imports: ["model", "lib"], world: false, pure: true },
  engine: { imports: ["core", "config", "ports", "model", "lib"], world: false, pure: true },
  generated: { imports: [], world: true, pure: false },
  drivers: { imports: ["ports", "model", "lib", "generated"], world: true, pure: false },
  server: { imports: ["ports", "model", "lib"], world: true, pure: false },
  app: {
    imports: [
      "core",
      "config",
      "ports",
      "engine",
      "drivers",
      "server",
      "model",
      "lib",
      "generated",
    ],
    world: true,
    pure: false,
  },
  cli: { imports: ["app", "config", "ports", "model", "lib"], world: true, pure: false },
  library: {
    imports: [
      "app",
      "cli",
      "core",
      "config",
      "ports",
      "engine",
      "drivers",
      "server",
      "model",
      "lib",
      "generated",
    ],
    world: true,
    pure: false,
  },
};

/** What the page of web/ may import of src: pure code, and types alone of what the agent answers. It sees no other npm package than these. */
export const pageLayer: {
  readonly imports: readonly string[];
  readonly types: readonly string[];
  readonly packages: readonly string[];
} = {
  imports: ["library", "core", "model", "lib"],
  types: ["ports", "server"],
  packages: ["preact", "@xterm/headless"],
};

/** Globals that let the world in; a pure layer gets time and entropy as arguments or through ports. */
export const impureGlobals: readonly string[] = [
  "Date",
  "process",
  "fetch",
  "performance",
  "crypto",
  "setTimeout",
  "setInterval",
  "setImmediate",
  "clearTimeout",
  "clearInterval",
  "console",
  "Buffer",
];

export const maxFileLines = 500;
export const maxFunctionLines = 70;
export const maxParameters = 4;
