/** Calls of a kubelet's plugins over gRPC on Unix sockets: their registration, and node information of CSI drivers. */
import { messageOf } from '../../lib/error-message.ts'
import { type Method, openConnection } from '../../transport/grpc/connection.ts'
import { codeName, RpcError } from '../../transport/grpc/status.ts'
import { readFields, Writer } from '../../transport/grpc/wire.ts'

export type PluginInfo = {
  readonly type: string
  readonly name: string
  /** The socket of the plugin itself; that of its registration when empty. */
  readonly endpoint: string
  readonly versions: readonly string[]
}

export type DriverNode = {
  readonly nodeID: string
  /** 0 for no limit. */
  readonly maxVolumes: number
  readonly topology: Readonly<Record<string, string>>
}

export type PluginCalls = {
  readonly info: (socket: string) => Promise<PluginInfo>
  /** An empty error means that the plugin is registered. */
  readonly notify: (socket: string, error: string) => Promise<void>
  readonly nodeInfo: (socket: string) => Promise<DriverNode>
}

const writer = () => new Writer({ reserve: 5 })

const GET_INFO: Method<undefined, PluginInfo> = {
  path: '/pluginregistration.Registration/GetInfo',
  write: writer,
  read(message) {
    const info = { type: '', name: '', endpoint: '', versions: [] as string[] }
    readFields(message, ({ field, bytes }) => {
      const text = bytes.toString()
      if (field === 1) info.type = text
      else if (field === 2) info.name = text
      else if (field === 3) info.endpoint = text
      else if (field === 4) info.versions.push(text)
    })
    return info
  },
}

const NOTIFY: Method<string, void> = {
  path: '/pluginregistration.Registration/NotifyRegistrationStatus',
  write: error => (error === '' ? writer().flag(1, true) : writer().text(2, error)),
  read: () => undefined,
}

const NODE_GET_INFO: Method<undefined, DriverNode> = {
  path: '/csi.v1.Node/NodeGetInfo',
  write: writer,
  read(message) {
    const node = { nodeID: '', maxVolumes: 0, topology: {} as Record<string, string> }
    readFields(message, ({ field, number, bytes }) => {
      if (field === 1) node.nodeID = bytes.toString()
      else if (field === 2) node.maxVolumes = number
      else if (field === 3) node.topology = segmentsOf(bytes)
    })
    return node
  },
}

/** The segments of a topology: a map of texts. */
function segmentsOf(topology: Buffer): Record<string, string> {
  const segments = new Map<string, string>()
  readFields(topology, entry => {
    if (entry.field !== 1) return
    const pair = { key: '', value: '' }
    readFields(entry.bytes, ({ field, bytes }) => {
      if (field === 1) pair.key = bytes.toString()
      else if (field === 2) pair.value = bytes.toString()
    })
    segments.set(pair.key, pair.value)
  })
  return Object.fromEntries(segments)
}

/** A kubelet waits that long for an answer about a registration, and for a driver. */
const REGISTRATION_MS = 1_000
const NOTIFY_MS = 5_000
const DRIVER_MS = 120_000
const PEER = { name: 'the plugin', authority: 'localhost' }

export function pluginCalls(signal: AbortSignal): PluginCalls {
  const call = async <Request, Response>(socket: string, method: Method<Request, Response>, request: Request, deadlineMs: number) => {
    const connection = await openConnection(`unix://${encodeURI(socket)}`, { peer: PEER, signal })
    try {
      return await connection.call(method, request, { deadlineMs })
    } catch (error) {
      throw error instanceof RpcError ? new Error(`rpc error: code = ${codeName(error.code)} desc = ${error.message}`) : error
    } finally {
      connection.destroy()
    }
  }
  return {
    info: async socket => {
      try {
        return await call(socket, GET_INFO, undefined, REGISTRATION_MS)
      } catch (error) {
        throw new Error(`RegisterPlugin error -- failed to get plugin info using RPC GetInfo at socket ${socket}, err: ${messageOf(error)}`)
      }
    },
    notify: (socket, error) => call(socket, NOTIFY, error, NOTIFY_MS),
    nodeInfo: socket => call(socket, NODE_GET_INFO, undefined, DRIVER_MS),
  }
}
