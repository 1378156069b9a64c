interface BootstrapObject {
  /** The collection that it is created in. */
  readonly path: string;
  readonly object: object;
}

/** What an installer puts into a new cluster so that nodes can join it and be reached. */
export function bootstrapObjects(token: string): readonly BootstrapObject[] {
  const [id = "", secret = ""] = token.split(".");
  const approve = "system:certificates.k8s.io:certificatesigningrequests";
  return [
    {
      path: "/api/v1/namespaces/kube-system/secrets",
      object: {
        apiVersion: "v1",
        kind: "Secret",
        metadata: { name: `bootstrap-token-${id}` },
        type: "bootstrap.kubernetes.io/token",
        stringData: {
          "token-id": id,
          "token-secret": secret,
          "usage-bootstrap-authentication": "true",
        },
      },
    },
    binding("bootstrap-requests", "system:node-bootstrapper", group("system:bootstrappers")),
    binding("bootstrap-approval", `${approve}:nodeclient`, group("system:bootstrappers")),
    binding("renewal-approval", `${approve}:selfnodeclient`, group("system:nodes")),
    binding("kubelet-api", "system:kubelet-api-admin", {
      kind: "User",
      name: "kube-apiserver-kubelet-client",
    }),
  ];
}

function group(name: string): object {
  return { kind: "Group", name };
}

function binding(name: string, role: string, subject: object): BootstrapObject {
  const apiGroup = "rbac.authorization.k8s.io";
  return {
    path: "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings",
    object: {
      apiVersion: `${apiGroup}/v1`,
      kind: "ClusterRoleBinding",
      metadata: { name },
      roleRef: { apiGroup, kind: "ClusterRole", name: role },
      subjects: [{ apiGroup, ...subject }],
    },
  };
}
