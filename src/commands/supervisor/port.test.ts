import assert from 'node:assert/strict'
import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { test } from 'node:test'
import { Port } from './port.ts'
import type { ServerProcess } from './server-process.ts'

/** Takes every connection. */
class TestProcess {
  readonly isPrimary: boolean
  readonly unanswered = 0
  connections = 0

  constructor(isPrimary: boolean) {
    this.isPrimary = isPrimary
  }

  hand(socket: Socket): boolean {
    this.connections++
    socket.end('taken')
    return true
  }

  takeBack(): Socket[] {
    return []
  }
}

/** How many connections each process has after so many were opened one after the other; the first is the primary where there is one. */
async function shares(connections: number, { hasPrimary }: { readonly hasPrimary: boolean }): Promise<number[]> {
  const port = new Port()
  const { port: number } = await port.open({ host: '127.0.0.1', port: 0 })
  const processes = [0, 1, 2].map(i => new TestProcess(hasPrimary && i === 0))
  for (const each of processes) port.add(each as unknown as ServerProcess)
  for (let i = 0; i < connections; i++) await once(connect(number, '127.0.0.1'), 'data')
  port.close()
  return processes.map(each => each.connections)
}

test('connections go to the process that has the fewest', async () => {
  assert.deepEqual(await shares(3, { hasPrimary: false }), [1, 1, 1])
  assert.deepEqual(await shares(15, { hasPrimary: false }), [5, 5, 5])
})

test('the primary gets two connections where another process gets three, but each gets one first', async () => {
  assert.deepEqual(await shares(3, { hasPrimary: true }), [1, 1, 1])
  assert.deepEqual(await shares(16, { hasPrimary: true }), [4, 6, 6])
})
