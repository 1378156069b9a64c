import { expect, test } from "vitest";
import { type ContainerConfig, SecurityProfile_ProfileType } from "../../model/generated/cri.ts";
import { withSeccompFile } from "./node-pod-configs.ts";

const root = "/data/seccomp";

function withProfile(localhostRef: string): ContainerConfig {
  const seccomp = { profileType: SecurityProfile_ProfileType.Localhost, localhostRef };
  return { linux: { securityContext: { seccomp } } };
}

function filesWith(links: Readonly<Record<string, string>>) {
  return { realPath: (path: string) => Promise.resolve(links[path]) };
}

test.each([
  { what: "a file", links: { "/data/seccomp/p": "/data/seccomp/p" }, to: "/data/seccomp/p" },
  { what: "a link inside", links: { "/data/seccomp/p": "/data/seccomp/q" }, to: "/data/seccomp/q" },
  {
    what: "a folder of profiles that is a link itself",
    links: { "/data/seccomp/p": "/else/p", "/data/seccomp": "/else" },
    to: "/else/p",
  },
  { what: "a file that is missing", links: {}, to: "/data/seccomp/p" },
])("$what is used", async ({ links, to }) => {
  const config = await withSeccompFile(withProfile(`${root}/p`), root, filesWith(links));
  expect(config).toEqual({ ok: true, value: withProfile(to) });
});

test.each([
  { what: "a link out of the folder", ref: `${root}/p`, links: { [`${root}/p`]: "/etc/p" } },
  { what: "dots out of the folder", ref: "/data/p", links: {} },
  { what: "a folder beside with the same start", ref: "/data/seccomp-2/p", links: {} },
  { what: "the folder itself", ref: root, links: { [root]: root } },
])("$what is refused", async ({ ref, links }) => {
  const config = await withSeccompFile(withProfile(ref), root, filesWith(links));
  expect(config).toEqual({ ok: false, error: `seccomp profile "${ref}" leads out of ${root}` });
});

test("other profiles are left alone", async () => {
  const seccomp = { profileType: SecurityProfile_ProfileType.RuntimeDefault };
  const config: ContainerConfig = { linux: { securityContext: { seccomp } } };
  expect(await withSeccompFile(config, root, filesWith({}))).toEqual({ ok: true, value: config });
});
