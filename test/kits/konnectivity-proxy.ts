/** A proxy that speaks the protocol of Konnectivity on a Unix socket, and connects its clients itself instead of through agents. */
import { once } from 'node:events'
import { createServer, type ServerHttp2Session, type ServerHttp2Stream } from 'node:http2'
import { connect, type Socket } from 'node:net'
import { Frames, framed } from '../../src/transport/grpc/connection.ts'
import { readFields, Writer } from '../../src/transport/grpc/wire.ts'

/** The outcome of a dial: connect to an address, refuse with a message, give it up, or end the stream. */
export type Dialed = { readonly to: string } | { readonly error: string } | 'give up' | 'end'

export type KonnectivityProxy = {
  /** The addresses that clients asked for. */
  readonly asked: string[]
  /** Connections that clients have closed by a request. */
  readonly closed: number[]
  /** Connections that are open now. */
  open(): number
  stop(): Promise<void>
}

const DIAL_RSP = 1
const CLOSE_REQ = 2
const CLOSE_RSP = 3
const DATA = 4
const DIAL_CLS = 5
/** The field of a packet that has the content of its type. */
const CONTENT = [2, 3, 5, 6, 4, 7]

export async function startKonnectivityProxy(path: string, dial: (address: string) => Dialed): Promise<KonnectivityProxy> {
  const [asked, closed, targets, sessions]: [string[], number[], Map<number, Socket>, Set<ServerHttp2Session>] = [
    [],
    [],
    new Map(),
    new Set(),
  ]
  let lastId = 0
  const server = createServer()
  server.on('session', session => {
    sessions.add(session)
    session.on('close', () => sessions.delete(session)).on('error', () => {})
  })
  server.on('stream', (stream, headers) => {
    stream.on('error', () => {})
    if (headers[':path'] !== '/ProxyService/Proxy') {
      stream.respond({ ':status': 200, 'content-type': 'application/grpc', 'grpc-status': '12' }, { endStream: true })
      return
    }
    stream.respond({ ':status': 200, 'content-type': 'application/grpc' })
    const packets = new Frames(packet => {
      const { type, texts, numbers } = read(packet)
      if (type === DATA) targets.get(numbers[1]!)?.write(Buffer.from(texts[3]!))
      else if (type === CLOSE_REQ) {
        closed.push(numbers[1]!)
        targets.get(numbers[1]!)?.destroy()
      } else if (type === 0) open(stream, texts[2]!.toString(), numbers[3]!)
    })
    stream.on('data', (chunk: Buffer) => packets.take(chunk))
  })

  function open(stream: ServerHttp2Stream, address: string, random: number): void {
    asked.push(address)
    const decided = dial(address)
    if (decided === 'end') stream.close()
    else if (decided === 'give up') send(stream, DIAL_CLS, content => content.number(1, random))
    else if ('error' in decided) send(stream, DIAL_RSP, content => content.text(1, decided.error).number(3, random))
    else {
      const [host = '', port = ''] = decided.to.split(/:(?=\d+$)/)
      const id = ++lastId
      const target = connect(Number(port), host, () => send(stream, DIAL_RSP, content => content.number(2, id).number(3, random)))
      targets.set(id, target)
      target.on('data', data => send(stream, DATA, content => content.number(1, id).bytes(3, data)))
      target.on('error', () => {})
      target.on('close', () => {
        targets.delete(id)
        send(stream, CLOSE_RSP, content => content.number(2, id))
      })
      stream.on('close', () => target.destroy())
    }
  }

  server.listen(path)
  await once(server, 'listening')
  return {
    asked,
    closed,
    open: () => targets.size,
    async stop() {
      for (const session of sessions) session.destroy()
      await new Promise(resolve => server.close(resolve))
    },
  }
}

function send(stream: ServerHttp2Stream, type: number, write: (content: Writer) => Writer): void {
  if (stream.writable) stream.write(framed(write(new Writer({ reserve: 5 }).number(1, type).begin(CONTENT[type]!)).end()))
}

function read(packet: Buffer) {
  const [texts, numbers]: [Buffer[], number[]] = [[], []]
  let [type, content] = [0, packet]
  readFields(packet, ({ field, number, bytes }) => {
    if (field === 1) type = number
    else content = bytes
  })
  readFields(content, ({ field, number, bytes }) => {
    texts[field] = bytes
    numbers[field] = number
  })
  return { type, texts, numbers }
}
