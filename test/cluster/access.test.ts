import { readFileSync } from "node:fs";
import { request } from "node:https";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { CertificateFiles } from "./support/certificates.ts";
import { CertificateAuthority } from "./support/certificates.ts";
import { testedAgent } from "./support/cluster-node.ts";
import { createPod, isReady, untilPod } from "./support/cluster-pods.ts";
import { ClusterWorld } from "./support/cluster-world.ts";
import { kubeletPort } from "./support/node-config.ts";

/** How a caller shows who it is. */
interface Identity {
  readonly certificate?: CertificateFiles;
  readonly token?: string;
}

/** Every endpoint with the subresource of nodes that opens it; a path without one needs nodes/proxy. */
const endpoints: readonly (readonly [method: string, path: string, subresource: string])[] = [
  ["GET", "/healthz", "healthz"],
  ["GET", "/healthz/syncloop", "healthz"],
  ["GET", "/configz", "configz"],
  ["GET", "/pods", "pods"],
  ["GET", "/runningpods/", "pods"],
  ["GET", "/stats/summary", "stats"],
  ["GET", "/metrics", "metrics"],
  ["GET", "/metrics/cadvisor", "metrics"],
  ["GET", "/metrics/resource", "metrics"],
  ["GET", "/metrics/probes", "metrics"],
  ["GET", "/logs/", "log"],
  ["GET", "/containerLogs/default/target/main", "proxy"],
  ["POST", "/exec/default/target/main?command=true&output=1", "proxy"],
  ["POST", "/attach/default/target/main?output=1", "proxy"],
  ["POST", "/run/default/target/main?cmd=true", "proxy"],
  ["POST", "/portForward/default/target", "proxy"],
  ["POST", "/checkpoint/default/target/main", "checkpoint"],
];

const subresources = [...new Set(endpoints.map(([, , subresource]) => subresource))];
const verbs: Readonly<Record<string, string>> = { GET: "get", POST: "create" };

describe("who may use a node's API", () => {
  let world: ClusterWorld;
  let stranger: CertificateFiles;
  let forged: CertificateFiles;
  const holders = new Map<string, CertificateFiles>();

  beforeAll(async () => {
    world = await ClusterWorld.start(testedAgent);
    stranger = world.plane.issue("stranger", "stranger");
    forged = new CertificateAuthority(world.node.folder, "forger").issue("forged", {
      commonName: "admin",
      organizations: ["system:masters"],
    });
    for (const subresource of subresources) {
      const user = `holder-of-${subresource}`;
      holders.set(subresource, world.plane.issue(user, user));
      const resource = `--resource=nodes/${subresource}`;
      await world.kubectl.run("create", "clusterrole", user, "--verb=get,create", resource);
      await world.kubectl.run(
        ...(["create", "clusterrolebinding", user] as const),
        `--clusterrole=${user}`,
        `--user=${user}`,
      );
    }
    await createPod(world.api, "target");
    await untilPod(world.api, "target", isReady);
  });

  afterAll(() => world.close());

  function ask(method: string, path: string, who: Identity): Promise<Answer> {
    return new Promise((resolve, reject) => {
      const call = request(`https://${world.plane.address}:${kubeletPort}${path}`, {
        method,
        agent: false,
        rejectUnauthorized: false,
        ...(who.certificate && {
          cert: readFileSync(who.certificate.certificate),
          key: readFileSync(who.certificate.key),
        }),
        headers: who.token === undefined ? {} : { authorization: `Bearer ${who.token}` },
        signal: AbortSignal.timeout(60_000),
      });
      call.once("upgrade", (_, socket) => {
        socket.destroy();
        resolve({ code: 101, text: "" });
      });
      call.once("response", (response) => {
        response
          .toArray()
          .then(
            (chunks) =>
              resolve({ code: response.statusCode ?? 0, text: Buffer.concat(chunks).toString() }),
            reject,
          );
      });
      call.once("error", reject);
      call.end();
    });
  }

  test.each(endpoints)("%s %s refuses missing and bad credentials", async (method, path) => {
    const anonymous = await ask(method, path, {});
    const liar = await ask(method, path, { token: "not.a.token" });
    expect([anonymous, liar]).toEqual([
      { code: 401, text: "Unauthorized" },
      { code: 401, text: "Unauthorized" },
    ]);
  });

  test.each(endpoints)("%s %s refuses whom another authority vouches for", async (method, path) => {
    const answer = await ask(method, path, { certificate: forged }).catch(() => ({ code: 401 }));
    expect(answer.code).toBe(401);
  });

  test.each(endpoints)("%s %s refuses a stranger by name", async (method, path, subresource) => {
    const asked = ["pods", "healthz", "configz"].includes(subresource)
      ? `${subresource} proxy`
      : subresource;
    const verb = verbs[method] ?? "";
    expect(await ask(method, path, { certificate: stranger })).toEqual({
      code: 403,
      text: `Forbidden (user=stranger, verb=${verb}, resource=nodes, subresource(s)=[${asked}])\n`,
    });
  });

  test.each(endpoints)(
    "%s %s opens to holders of its subresource only",
    async (method, path, own) => {
      const codes = new Map<string, number>();
      for (const [subresource, certificate] of holders) {
        codes.set(subresource, (await ask(method, path, { certificate })).code);
      }
      const opens = [...codes]
        .filter(([, code]) => code !== 403)
        .map(([subresource]) => subresource);
      const wide = ["pods", "healthz", "configz"].includes(own) ? ["proxy"] : [];
      expect(opens.toSorted()).toEqual([...new Set([own, ...wide])].toSorted());
      expect([...codes.values()]).not.toContain(401);
    },
  );

  test("a service account's token is as good as a certificate", async () => {
    const account = "system:serviceaccount:default:default";
    const bind = ["create", "clusterrolebinding", "account", "--clusterrole=holder-of-stats"];
    await world.kubectl.run(...bind, `--serviceaccount=default:default`);
    const token = (await world.kubectl.run("create", "token", "default")).trim();
    expect((await ask("GET", "/stats/summary", { token })).code).toBe(200);
    const refused = await ask("GET", "/metrics", { token });
    expect(refused.text).toContain(`user=${account}`);
    expect(refused.code).toBe(403);
  });
});

interface Answer {
  readonly code: number;
  readonly text: string;
}
