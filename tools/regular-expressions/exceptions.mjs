const kernelFile = "the names are constants, and the text is the kernel's own";

/** Expressions that the tool refuses and that are safe all the same; each with the reason. */
export const exceptions = [
  {
    file: "src/drivers/linux/cpu-topology.ts",
    pattern: "`^${name}\\\\s*:\\\\s*(\\\\d+)`",
    because: kernelFile,
  },
  {
    file: "src/drivers/linux/node-facts.ts",
    pattern: "`^${field}:\\\\s+(\\\\d+) kB$`",
    because: kernelFile,
  },
  {
    file: "src/drivers/linux/read-machine.ts",
    pattern: "`^${field}:\\\\s*([0-9a-f]+)$`",
    because: kernelFile,
  },
  {
    file: "src/drivers/linux/read-machine.ts",
    pattern: "` cgroup [^ ]*\\\\b${name}\\\\b`",
    because: kernelFile,
  },
  {
    file: "src/server/metrics/process-metrics.ts",
    pattern: "`^${field}:\\\\s+(\\\\d+) kB$`",
    because: kernelFile,
  },
  {
    file: "src/engine/node/shutdown-manager.ts",
    pattern: '`"${name}":"([^"]+)"`',
    because: "the names are constants, and the agent wrote the file",
  },
  {
    file: "src/model/validate/volume-networks.ts",
    pattern: "iqn\\.\\d{4}-\\d{2}\\.([a-zA-Z0-9.-]+)(:[^,;*&$|\\s]+)$",
    because: "names of more than 1024 characters are refused before",
  },
];
