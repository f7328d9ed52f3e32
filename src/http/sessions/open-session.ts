/** Opens a session with a container over the protocol that the client asks for: SPDY, channels over WebSocket, or SPDY over WebSocket. */

import type { Session } from '../../registry/session.ts'
import { badRequest } from '../../schema/status-error.ts'
import { type Request, type RequestHeaders, type Response, textResponse } from '../message.ts'
import { COMMAND_CHANNELS, forwardOverChannels, PORT_CHANNELS, runOverChannels } from './channel-session.ts'
import { COMMAND_PROTOCOLS, forwardOverSpdy, PORT_PROTOCOLS, runOverSpdy } from './spdy-session.ts'

/** SPDY over WebSocket has this before the name of its own protocol. */
const TUNNELLED = 'SPDY/3.1+'
const SPDY = 'SPDY/3.1'

export function openSession(request: Request, session: Session): Response {
  if (request.upgrade === undefined) throw badRequest('Upgrade request required')
  return request.upgrade === 'websocket' ? overWebSocket(request, session) : overSpdy(request, session)
}

function overSpdy({ headers }: Request, session: Session): Response {
  if (session.type === 'refused') return textResponse(session.code, session.message)
  const upgrade = [headers['upgrade'] ?? []].flat().join(',').toLowerCase()
  if (!upgrade.includes(SPDY.toLowerCase())) return textResponse(400, 'unable to upgrade: missing upgrade headers in request\n')
  const offered = listedIn(headers, 'x-stream-protocol-version')
  const known = session.type === 'command' ? COMMAND_PROTOCOLS : PORT_PROTOCOLS
  if (headers['x-stream-protocol-version'] === undefined) {
    const count = Object.keys(headers).length
    return textResponse(400, `unable to upgrade: header X-Stream-Protocol-Version does not exist in request with ${count} headers\n`)
  }
  const protocol = offered.find(name => known.includes(name))
  if (protocol === undefined) return unknownProtocol(offered, known)
  return {
    status: 101,
    headers: { connection: 'Upgrade', upgrade: SPDY, 'x-stream-protocol-version': protocol },
    body: NOTHING,
    tunnel: {
      start: (socket, head) =>
        session.type === 'command' ? runOverSpdy(socket, head, { session, protocol }) : forwardOverSpdy(socket, head, session),
      abandon: () => {},
    },
  }
}

function unknownProtocol(offered: readonly string[], known: readonly string[]): Response {
  const message = `unable to upgrade: unable to negotiate protocol: client supports [${offered.join(' ')}], server accepts [${known.join(' ')}]\n`
  const { headers, ...response } = textResponse(403, message)
  return { ...response, headers: { ...headers, 'x-accepted-stream-protocol-versions': known } }
}

const listedIn = (headers: RequestHeaders, name: string): string[] =>
  [headers[name] ?? []]
    .flat()
    .flatMap(line => line.split(',').map(each => each.trim()))
    .filter(each => each !== '')

function overWebSocket({ headers }: Request, session: Session): Response {
  const offered = listedIn(headers, 'sec-websocket-protocol')
  // kube-apiserver opens the newest protocol itself, before it asks the kubelet; all others are the kubelet's.
  const isNewest = offered.includes('v5.channel.k8s.io')
  if (session.type === 'refused' && !isNewest) return textResponse(session.code, session.message)
  const known = session.type === 'ports' ? [...PORT_PROTOCOLS.map(name => `${TUNNELLED}${name}`), ...PORT_CHANNELS] : COMMAND_CHANNELS
  if (session.type === 'ports' && session.ports.length === 0 && !offered.some(name => name.startsWith(TUNNELLED)))
    return textResponse(400, 'query parameter "port" is required')
  return {
    status: 101,
    headers: {},
    body: NOTHING,
    tunnel: {
      // Without a name the oldest protocol is spoken.
      messages: {
        choose: names => (names.length === 0 ? '' : names.find(name => known.includes(name))),
        start(webSocket, protocol) {
          if (session.type !== 'ports') return void runOverChannels(webSocket, { session, protocol })
          if (!protocol.startsWith(TUNNELLED)) return forwardOverChannels(webSocket, { session, protocol })
          return void import('ws').then(({ createWebSocketStream }) =>
            forwardOverSpdy(createWebSocketStream(webSocket), new Uint8Array(), session),
          )
        },
      },
      start: socket => socket.destroy(),
      abandon: () => {},
    },
  }
}

const NOTHING = new Uint8Array()
