import { it } from 'vitest';
import { connectRaw, SWITCHING, upgradeRequest } from '../support/raw-client.ts';
import { openRawPeer } from '../support/raw-peer.ts';
import { openTunnelProxy } from '../support/tunnel-proxy.ts';
it('x', async () => {
    const early = Buffer.alloc(1_000_000, 'abcdefghijk');
    let release: (() => void) | undefined;
    const released = new Promise<void>((resolve) => (release = resolve));
    const peer = await openRawPeer(async (connection) => {
      await connection.readHead();
      await released;
      connection.write(SWITCHING);
    });
    const proxy = await openTunnelProxy({ ports: [peer.port] });
    const client = await connectRaw(proxy.port);
  const t=performance.now(); const log=(s:string)=>console.log(s, performance.now()-t);
    client.write(upgradeRequest('/x'));
    client.write(early);
    const connection = await peer.connection(0);
    log('conn');
    while (proxy.clients[0]?.isPaused() !== true) await new Promise((resolve) => setImmediate(resolve));
    log('paused '+proxy.clients[0].bytesRead);
    const s=setInterval(()=>log('have '+connection.received.length+' rd '+proxy.clients[0]!.bytesRead+' '+proxy.clients[0]!.isPaused()+' w '+client.socket.writableLength), 200);
    release?.();
    await connection.readBytes(early.length); log('done'); clearInterval(s);
    await proxy.close(); await peer.close();
});
