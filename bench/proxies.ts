// Owns the start of the servers a row needs: the stand-in API server and the two proxies that are compared.
// The proxy under test is a command with {placeholders}, so that a prototype or another build can take its place.
import { type CertFiles, makeCerts } from './certs.ts';
import { checkReady, checkSmallGet } from './exchange.ts';
import { haproxyCommand, nginxCommand } from './stand-ins.ts';
import { type Server, type Workshop, freePort } from './workshop.ts';

/** uvip as its users start it, with one peer. */
export const UVIP_COMMAND = [
  'node dist/main.js serve --bind-address 127.0.0.1 --secure-port {port}',
  '--tls-cert-file {cert} --tls-private-key-file {key}',
  '--peer-address a=127.0.0.1:{peer} --peer-ca-file {ca}',
  '--ops-bind-address 127.0.0.1 --ops-port {ops}',
].join(' ');

/** Given as the command, it puts a second HAProxy in uvip's place: the ratio must then be about 1. */
export const CONTROL = 'haproxy';

export interface Proxy {
  readonly name: string;
  readonly port: number;
  readonly server: Server;
}

/** The proxy under test and the one it is compared to, both ready and checked. */
export interface Contest {
  readonly tested: Proxy;
  readonly reference: Proxy;
}

function fill(template: string, values: Readonly<Record<string, string | number>>): string[] {
  return template.split(/\s+/).map((word) =>
    word.replace(/\{(\w+)\}/g, (_, name: string) => {
      const value = values[name];
      if (value === undefined) throw new Error(`--proxy: there is no {${name}}`);
      return String(value);
    }),
  );
}

interface Place {
  readonly workshop: Workshop;
  readonly certs: CertFiles;
  readonly peer: number;
}

async function startHaproxy({ workshop, certs, peer }: Place, name: string): Promise<Proxy> {
  const port = await freePort();
  const command = haproxyCommand(workshop.folder, certs, { listen: port, peer });
  return { name, port, server: workshop.start(name, command) };
}

async function startTested(place: Place, template: string): Promise<Proxy> {
  if (template === CONTROL) return startHaproxy(place, 'control');
  const port = await freePort();
  const values = { ...place.certs, port, ops: await freePort(), peer: place.peer };
  return { name: 'uvip', port, server: place.workshop.start('uvip', fill(template, values)) };
}

/** Starts all servers and checks, before any clock runs, that each of them answers as it should. */
export async function startContest(workshop: Workshop, template: string): Promise<Contest> {
  const certs = makeCerts(workshop.folder);
  const peer = await freePort();
  const nginx = workshop.start('nginx', nginxCommand(workshop.folder, certs, peer));
  await workshop.untilReady(nginx, () => checkReady(peer, certs.ca));
  await checkSmallGet('nginx', peer, certs.ca);

  const place = { workshop, certs, peer };
  const tested = await startTested(place, template);
  const reference = await startHaproxy(place, 'haproxy');
  for (const { name, port, server } of [tested, reference]) {
    await workshop.untilReady(server, () => checkReady(port, certs.ca));
    await checkSmallGet(name, port, certs.ca);
  }
  return { tested, reference };
}
