import type { PodSpec } from "../../../src/model/generated/kubernetes.ts";
import { shell, untilStopped } from "../../integration/support/agent-manifests.ts";

const longestSeconds = 2_147_483_647;

/** A pull secret whose pattern took an expression exponential time. */
export const hostileSecret: object = {
  apiVersion: "v1",
  kind: "Secret",
  metadata: { name: "stars" },
  type: "kubernetes.io/dockerconfigjson",
  stringData: {
    ".dockerconfigjson": JSON.stringify({
      auths: { "*a*a*a*a*a*a*a*a*a*b.io": { auth: Buffer.from("user:word").toString("base64") } },
    }),
  },
};

/** By name; `hungParent` is a folder with a file system in it that never answers, named "hung". */
export function hostilePods(hungParent: string): readonly (readonly [string, Partial<PodSpec>])[] {
  const numbered = (count: number, name: string, spec: Partial<PodSpec>) =>
    Array.from({ length: count }, (_, index) => [`${name}-${index}`, spec] as const);
  return [
    ["stars", { imagePullSecrets: [{ name: "stars" }], containers: [starImage()] }],
    ["environment", { containers: [environmentBomb()] }],
    ...numbered(6, "names", { containers: [namelessProbes()] }),
    ...numbered(4, "hung-subpath", hungSubPath(hungParent)),
    ["hung-hostpath", hungHostPath(`${hungParent}/hung/below`)],
    ["hung-scratch", withScratch(untilStopped)],
    ["many-files", withScratch(manyFiles)],
    ["hosts", { containers: [shell("main", growHosts)] }],
    ...numbered(3, "chatty", { containers: [chattyProbe()] }),
    ["endless-answer", { containers: [endlessAnswer()] }],
    ["long-times", { containers: [longTimes()], terminationGracePeriodSeconds: longestSeconds }],
    ["log-flood", { containers: [shell("main", logFlood)] }],
    ["crash", { containers: [shell("main", "exit 1")] }],
  ];
}

const manyFiles = `i=0; while [ $i -lt 300 ]; do mkdir /data/$i; (cd /data/$i; seq 1 1000 | xargs touch); i=$((i+1)); done; ${untilStopped}`;
const growHosts =
  "trap 'exit 0' TERM; while true; do head -c 100000 /dev/zero >> /etc/hosts; sleep 1; done";
const logFlood =
  "trap 'exit 0' TERM; while true; do head -c 200000 /dev/zero | tr '\\0' x; sleep 1; done";

function starImage() {
  return { name: "main", image: `${"a".repeat(60)}.io/x:1`, command: ["true"] };
}

function environmentBomb() {
  const env = [{ name: "A0", value: "x".repeat(1_000) }];
  for (let level = 1; level <= 7; level += 1) {
    env.push({ name: `A${level}`, value: `$(A${level - 1})`.repeat(10) });
  }
  for (let index = 0; index < 40; index += 1)
    env.push({ name: `B${index}`, value: "$(A7)".repeat(4) });
  return shell("main", untilStopped, { env });
}

function namelessProbes() {
  const probe = (name: string) => ({
    httpGet: { host: `${name}.never-answers.example`, path: "/", port: 80 },
    periodSeconds: 1,
    timeoutSeconds: 5,
  });
  return shell("main", untilStopped, {
    readinessProbe: probe("ready"),
    startupProbe: probe("start"),
    lifecycle: { postStart: { httpGet: { host: "hook.never-answers.example", port: 80 } } },
  });
}

function hungSubPath(hungParent: string): Partial<PodSpec> {
  return {
    containers: [
      shell("main", untilStopped, {
        volumeMounts: [{ name: "host", mountPath: "/data", subPath: "hung/data" }],
      }),
    ],
    volumes: [{ name: "host", hostPath: { path: hungParent } }],
  };
}

function hungHostPath(path: string): Partial<PodSpec> {
  return {
    containers: [
      shell("main", untilStopped, { volumeMounts: [{ name: "host", mountPath: "/data" }] }),
    ],
    volumes: [{ name: "host", hostPath: { path, type: "DirectoryOrCreate" } }],
  };
}

function withScratch(script: string): Partial<PodSpec> {
  return {
    containers: [shell("main", script, { volumeMounts: [{ name: "data", mountPath: "/data" }] })],
    volumes: [{ name: "data", emptyDir: {} }],
  };
}

function chattyProbe() {
  const command = ["sh", "-c", "head -c 15000000 /dev/zero"];
  return shell("main", untilStopped, {
    readinessProbe: { exec: { command }, periodSeconds: 2, timeoutSeconds: 10 },
  });
}

function endlessAnswer() {
  const serve = "while true; do (printf 'HTTP/1.1 200 OK\\r\\n\\r\\n'; yes) | nc -l -p 8080; done";
  return shell("main", serve, {
    readinessProbe: { httpGet: { path: "/", port: 8080 }, periodSeconds: 1, timeoutSeconds: 5 },
  });
}

function longTimes() {
  return shell("main", untilStopped, {
    readinessProbe: { exec: { command: ["true"] }, timeoutSeconds: longestSeconds },
    livenessProbe: { exec: { command: ["true"] }, timeoutSeconds: longestSeconds },
  });
}
