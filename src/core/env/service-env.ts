import type { Service, ServicePort } from "../../model/generated/kubernetes.ts";

/** The variables with the addresses of services, for a pod of a namespace. The API server's own is always among them. */
export function serviceEnv(
  services: readonly Service[],
  namespace: string,
  enableServiceLinks: boolean,
): Map<string, string> {
  const visible = new Map<string, Service>();
  for (const service of services) {
    const { name = "", namespace: serviceNamespace } = service.metadata ?? {};
    const clusterIp = service.spec?.clusterIP ?? "";
    if (clusterIp === "" || clusterIp === "None") continue;
    if (serviceNamespace === "default" && name === "kubernetes") {
      if (!visible.has(name)) visible.set(name, service);
    } else if (serviceNamespace === namespace && enableServiceLinks) {
      visible.set(name, service);
    }
  }
  return new Map([...visible].flatMap(([name, service]) => variables(name, service)));
}

function variables(serviceName: string, service: Service): [string, string][] {
  const prefix = variableName(serviceName);
  const clusterIp = service.spec?.clusterIP ?? "";
  const ports = service.spec?.ports ?? [];
  const [first] = ports;
  if (first === undefined) return [[`${prefix}_SERVICE_HOST`, clusterIp]];
  return [
    [`${prefix}_SERVICE_HOST`, clusterIp],
    [`${prefix}_SERVICE_PORT`, String(first.port)],
    ...ports
      .filter(({ name = "" }) => name !== "")
      .map(({ name = "", port }): [string, string] => [
        `${prefix}_SERVICE_PORT_${variableName(name)}`,
        String(port),
      ]),
    [`${prefix}_PORT`, portUrl(clusterIp, first)],
    ...ports.flatMap((port) => linkVariables(prefix, clusterIp, port)),
  ];
}

/** The variables that Docker's container links had. */
function linkVariables(prefix: string, clusterIp: string, port: ServicePort): [string, string][] {
  const link = `${prefix}_PORT_${port.port}_${protocolOf(port).toUpperCase()}`;
  return [
    [link, portUrl(clusterIp, port)],
    [`${link}_PROTO`, protocolOf(port).toLowerCase()],
    [`${link}_PORT`, String(port.port)],
    [`${link}_ADDR`, clusterIp],
  ];
}

function portUrl(clusterIp: string, port: ServicePort): string {
  const host = clusterIp.includes(":") ? `[${clusterIp}]` : clusterIp;
  return `${protocolOf(port).toLowerCase()}://${host}:${port.port}`;
}

function protocolOf({ protocol = "" }: ServicePort): string {
  return protocol === "" ? "TCP" : protocol;
}

function variableName(text: string): string {
  return text.replaceAll("-", "_").toUpperCase();
}
