import type { Container, PodSpec, ResourceRequirements } from "../generated/kubernetes.ts";
import { compareQuantity, isZeroQuantity, parseQuantity, type Quantity } from "../quantity.ts";

type Amounts = Readonly<Record<string, string>>;

const resizable = ["cpu", "memory"];

/**
 * A pod without what can change while it runs: how much CPU and memory it asks for. Which of them it asks for
 * stays, and whether it is guaranteed all of it: a pod's class never changes.
 */
export function fixedContent(pod: { readonly spec: PodSpec }): unknown {
  const { spec } = pod;
  if (!asksForAny(spec)) return pod;
  return {
    ...pod,
    spec: {
      ...spec,
      resources: spec.resources && withoutAmounts(spec.resources),
      containers: spec.containers.map(fixedContainer),
      initContainers: spec.initContainers?.map(fixedContainer),
    },
    isGuaranteed: scopes(spec).every(isGuaranteed),
  };
}

function asksForAny(spec: PodSpec): boolean {
  return scopes(spec).some(({ requests, limits }) =>
    resizable.some((name) => requests?.[name] !== undefined || limits?.[name] !== undefined),
  );
}

function scopes({ resources, containers, initContainers = [] }: PodSpec): ResourceRequirements[] {
  if (resources !== undefined) return [resources];
  return [...containers, ...initContainers].map((container) => container.resources ?? {});
}

function fixedContainer(container: Container): unknown {
  return { ...container, resources: container.resources && withoutAmounts(container.resources) };
}

function withoutAmounts({ requests, limits, claims }: ResourceRequirements): unknown {
  return { requests: fixedAmounts(requests), limits: fixedAmounts(limits), claims };
}

/** Whether an amount is zero says more than how much it is. */
function fixedAmounts(amounts: Amounts | undefined): Amounts | undefined {
  if (amounts === undefined) return undefined;
  return Object.fromEntries(
    Object.entries(amounts).map(([name, text]) => {
      const amount = resizable.includes(name) ? amountOf(text) : undefined;
      return [name, amount === undefined || isZeroQuantity(amount) ? text : "some"];
    }),
  );
}

function isGuaranteed({ requests = {}, limits = {} }: ResourceRequirements): boolean {
  return resizable.every((name) => {
    const [request, limit] = [amountOf(requests[name]), amountOf(limits[name])];
    if (request === undefined || limit === undefined || isZeroQuantity(limit)) return false;
    return compareQuantity(request, limit) === 0;
  });
}

/** Undefined where there is none; a text that is not a quantity is refused later. */
function amountOf(text: string | undefined): Quantity | undefined {
  const parsed = text === undefined ? undefined : parseQuantity(text);
  return parsed?.ok === true ? parsed.value : undefined;
}
