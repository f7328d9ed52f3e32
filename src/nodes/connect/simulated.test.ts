import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { openControllerBench } from '../../../test/kits/controllers.ts'
import { Node } from '../../kinds/core/node.ts'
import { Pod } from '../../kinds/core/pod/pod.ts'
import { SIMULATED_LABEL } from '../node/is-simulated.ts'
import type { PodRequest } from './node-connection.ts'
import { simulatedConnection } from './simulated.ts'

const running = { name: 'c', state: { running: { startedAt: '2026-01-01T00:00:00Z' } }, lastState: {}, restartCount: 0, containerID: 'id' }
const pod = {
  metadata: { name: 'p', namespace: 'default', uid: 'u', annotations: { 'sim.keelson.dev/log': 'one\ntwo' } },
  spec: { nodeName: 'n', containers: [{ name: 'c', image: 'i' }] },
  status: { containerStatuses: [running] },
} as unknown as Pod

/** The body of a log that is followed; it may end by either of the two signals. */
async function followed(t: TestContext, signal: AbortSignal, ofRequest: AbortSignal): Promise<AsyncIterable<Uint8Array>> {
  const { client } = await openControllerBench(t, [Pod, Node])
  const live = { localImage: () => undefined } as never
  const connection = simulatedConnection({
    client,
    signal,
    live,
    runs: {} as never,
    reported: () => assert.fail('nothing is connected to'),
  })
  const result = await connection.pod({
    pod,
    container: 'c',
    node: { metadata: { name: 'n', labels: { [SIMULATED_LABEL]: 'true' } }, status: { nodeInfo: { containerRuntimeVersion: '' } } },
    call: { subresource: 'log', verb: 'get', query: new URLSearchParams('follow=true') },
    ctx: { now: new Date('2026-01-01T00:00:01Z'), gate: () => false, signal: ofRequest },
  } as unknown as PodRequest)
  return (result as { readonly body: AsyncIterable<Uint8Array> }).body
}

async function textOf(body: AsyncIterable<Uint8Array>, onText: () => void): Promise<string> {
  let text = ''
  for await (const piece of body) {
    text += Buffer.from(piece).toString()
    onText()
  }
  return text
}

// At 90fd23fb such a log stayed open until the server cut it off.
for (const ending of ['server', 'request'] as const)
  test(`a log that is followed ends with its text when the ${ending} ends before all of it is sent`, { timeout: 60_000 }, async t => {
    const [server, request] = [new AbortController(), new AbortController()]
    const body = await followed(t, server.signal, request.signal)
    const text = await textOf(body, () => (ending === 'server' ? server : request).abort())
    assert.equal(text, 'one\ntwo\n')
  })
