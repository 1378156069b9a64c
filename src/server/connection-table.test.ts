import { EventEmitter } from "node:events";
import type { Socket } from "node:net";
import { expect, test } from "vitest";
import { ConnectionTable } from "./connection-table.ts";

let nextPort = 1;

function connection(remoteAddress: string) {
  const socket = Object.assign(new EventEmitter(), {
    remoteAddress,
    remotePort: nextPort++,
    destroyed: false,
    destroy: () => {
      socket.destroyed = true;
      socket.emit("close");
    },
  });
  return socket as typeof socket & Socket;
}

function fill(table: ConnectionTable, address: string, count: number) {
  return Array.from({ length: count }, () => {
    const socket = connection(address);
    table.add(socket);
    return socket;
  });
}

test("the longest idle stranger of an address gives way to its next one", () => {
  const table = new ConnectionTable({ maxStrangers: 10, maxStrangersPerAddress: 3 });
  const [first, second, third] = fill(table, "10.0.0.1", 3);
  if (first !== undefined) table.setBusy(first, true);
  fill(table, "10.0.0.1", 1);
  expect([first?.destroyed, second?.destroyed, third?.destroyed]).toEqual([false, true, false]);
  expect(table.size).toBe(3);
});

test("when there are too many strangers, one of the address with the most gives way", () => {
  const table = new ConnectionTable({ maxStrangers: 4, maxStrangersPerAddress: 3 });
  const [honest] = fill(table, "10.0.0.1", 1);
  const greedy = fill(table, "10.0.0.2", 3);
  fill(table, "10.0.0.3", 1);
  expect(honest?.destroyed).toBe(false);
  expect(greedy.map(({ destroyed }) => destroyed)).toEqual([true, false, false]);
});

test("a connection with an authorized request never gives way", () => {
  const table = new ConnectionTable({ maxStrangers: 2, maxStrangersPerAddress: 2 });
  const [known] = fill(table, "10.0.0.1", 1);
  if (known !== undefined) table.setKnown(known);
  fill(table, "10.0.0.1", 50);
  expect(known?.destroyed).toBe(false);
  expect(table.size).toBe(3);
});

test("connections that end leave no trace", () => {
  const table = new ConnectionTable({ maxStrangers: 2, maxStrangersPerAddress: 2 });
  for (const socket of fill(table, "10.0.0.1", 2)) socket.destroy();
  expect(table.size).toBe(0);
  expect(fill(table, "10.0.0.1", 2).map(({ destroyed }) => destroyed)).toEqual([false, false]);
});
