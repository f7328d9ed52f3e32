/** The simulated nodes of a server: their controllers, kinds, connections and rights. */

import type { Authorizer } from '../../authz/authorizer.ts'
import { NodeGraph } from '../../authz/node/graph.ts'
import { nodeAuthorizer } from '../../authz/node/node-authorizer.ts'
import type { Client } from '../../client/client.ts'
import { serverIdentity } from '../../client/identity.ts'
import { versionInfo } from '../../http/documents/version.ts'
import type { Node } from '../../kinds/core/node.ts'
import { metricsKinds } from '../../kinds/metrics/all.ts'
import { chance } from '../../lib/environment.ts'
import { messageOf } from '../../lib/error-message.ts'
import { parseCIDR } from '../../lib/ip.ts'
import type { KubeletParts } from '../../nodes/connect/kubelet.ts'
import type { LivePods } from '../../nodes/process/live-pods.ts'
import type { OwnAddress } from '../../nodes/process/process-environment.ts'
import type { CommandRuns } from '../../nodes/script/command-runs.ts'
import type { Connect } from '../../registry/api.ts'
import type { VirtualSource } from '../../registry/deps.ts'
import type { Kind } from '../../schema/kind.ts'
import { VERSION } from '../../version.ts'
import { type Config, simulatedNodes } from '../config.ts'
import type { ServerContext } from '../context.ts'
import type { Pki } from '../credentials/pki.ts'
import type { OwnFiles } from '../files/own-files.ts'

/** Starts the configured nodes. Their code is loaded only then. */
export async function startSimulatedNodes({
  config,
  run,
  gate,
  clientFor,
  commands,
  signal,
}: Pick<ServerContext, 'config' | 'run' | 'gate' | 'clientFor' | 'signal'> & { readonly commands: NodeCommands }): Promise<void> {
  const count = simulatedNodes(config)
  if (count === 0) return
  const [{ simulatedNodes: nodes }, { simulatedKubelets }, { simulatedLoadBalancers }, { ensureReaderRole }] = await Promise.all([
    import('../../nodes/node/controller.ts'),
    import('../../nodes/pod/controller.ts'),
    import('../../nodes/load-balancer/controller.ts'),
    import('../../nodes/usage/reader-role.ts'),
  ])
  if (signal.aborted) return
  run(
    nodes({
      count,
      capacity: config.nodeCapacity,
      graceMs: config.nodeMonitorGraceMs,
      kubeletVersion: versionInfo(VERSION)['gitVersion'] ?? '',
      runtimeVersion: VERSION,
      gate,
      givesPodCIDRs: !config.allocateNodeCidrs,
      families: config.serviceClusterIpRange.map(range => parseCIDR(range)!.network.family),
    }),
  )
  run(simulatedKubelets({ gate, random: chance, runs: await commands.runs(), live: await commands.live() }))
  run(simulatedLoadBalancers)
  // Also without devices: it removes those that nodes had before.
  const [{ simulatedDrivers }, { readDriverSpec }] = await Promise.all([
    import('../../nodes/device/controller.ts'),
    import('../../nodes/device/driver.ts'),
  ])
  run(simulatedDrivers({ drivers: config.nodeDevices.map(readDriverSpec), gate }))
  if (config.nodePlugins !== undefined) run((await import('../../nodes/plugin/controller.ts')).nodePlugins(config.nodePlugins))
  await ensureReaderRole(clientFor(serverIdentity()), config.groupDomain)
}

/** The kinds that exist only with simulated nodes: those of a metrics server. */
export const kindsOfNodes = (config: Config): readonly Kind<any>[] => (simulatedNodes(config) > 0 ? metricsKinds : [])

/** The sources of the objects of these kinds, loaded when first used. */
export function nodeSources(client: Client): Readonly<Record<string, VirtualSource>> {
  const load = () => import('../../nodes/usage/metrics.ts')
  return {
    'node usage': async request => (await load()).nodeMetrics(client, request),
    'pod usage': async request => (await load()).podMetrics(client, request),
  }
}

/** The connection settings of kubelets. As in kube-apiserver, their certificates are verified only with a configured authority. */
export function kubeletParts(
  { config, destinations }: Pick<ServerContext, 'config' | 'destinations'>,
  { kubelet: { ca, client } }: OwnFiles,
  pki: () => Pki,
): KubeletParts {
  const tls = () => {
    const { cert, key } = client ?? pki().kubeletClient
    return ca === undefined ? { cert, key, rejectUnauthorized: false } : { cert, key, ca, rejectUnauthorized: true }
  }
  return { tls, reported: destinations.reported, addressTypes: config.kubeletPreferredAddressTypes }
}

/** Runs the commands of simulated containers, for nodes and for readers of logs; loaded when first used. */
export type NodeCommands = {
  readonly runs: () => Promise<CommandRuns>
  /** Processes on this machine, and probes that are really made. */
  readonly live: () => Promise<LivePods>
  readonly close: () => Promise<void>
}

export type NodeCommandsParts = Pick<ServerContext, 'config' | 'destinations' | 'log'> & {
  readonly client: Client
  /** The address at which processes on this machine reach the server. */
  readonly server: () => OwnAddress
}

export function nodeCommands({ client, config, destinations, log, server }: NodeCommandsParts): NodeCommands {
  let loading: Promise<CommandRuns> | undefined
  let opening: Promise<LivePods> | undefined
  const load = async () => {
    const { CommandRuns } = await import('../../nodes/script/command-runs.ts')
    const onError = (error: unknown) => log.warn({ error: String(error) }, 'a simulated command could not be run')
    return new CommandRuns({ client, groupDomain: config.groupDomain, onError })
  }
  const open = async () => {
    const [{ LivePods }, { localImages, readLocalImage }] = await Promise.all([
      import('../../nodes/process/live-pods.ts'),
      import('../../nodes/process/local-image.ts'),
    ])
    return new LivePods({
      client,
      images: localImages(config.localImages.map(readLocalImage)),
      groupDomain: config.groupDomain,
      reported: destinations.reported,
      server,
      version: kubernetesMinor(),
      inherited: process.env,
      onError: error => log.warn({ error: messageOf(error) }, 'the files of a local process could not be written'),
    })
  }
  return {
    runs: () => (loading ??= load()),
    live: () => (opening ??= open()),
    close: async () => {
      await (await opening)?.[Symbol.asyncDispose]()
      await (await loading)?.[Symbol.asyncDispose]()
    },
  }
}

/** The release that probes name, such as 1.37. */
function kubernetesMinor(): string {
  const { major = '', minor = '' } = versionInfo(VERSION) as Record<string, string>
  return `${major}.${minor}`
}

type ConnectionParts = {
  readonly client: Client
  readonly kubelets: KubeletParts
  /** The place of a process for which a pod or a Service stands. */
  readonly local: ServerContext['destinations']['local']
  readonly commands: NodeCommands
  readonly signal: AbortSignal
}

/** Answers requests for nodes. The code is loaded with the first of them. */
export function nodeConnections({ client, kubelets, local, commands, signal }: ConnectionParts): Connect {
  let loading: Promise<Connect> | undefined
  const load = async () => {
    const [{ nodeConnector }, { kubeletConnection }, { simulatedConnection }, { isSimulated }] = await Promise.all([
      import('../../nodes/connect/connector.ts'),
      import('../../nodes/connect/kubelet.ts'),
      import('../../nodes/connect/simulated.ts'),
      import('../../nodes/node/is-simulated.ts'),
    ])
    const [runs, live] = await Promise.all([commands.runs(), commands.live()])
    const simulated = simulatedConnection({ client, runs, live, reported: kubelets.reported, signal })
    const connectionTo = (node: Node) => (isSimulated(node) ? simulated : kubeletConnection(node, kubelets))
    return nodeConnector({ client, connectionTo, reported: kubelets.reported, local, random: chance })
  }
  return async connection => (await (loading ??= load()))(connection)
}

/**
 * The authorizer of the server's own components. Those that are nodes have the rights of a kubelet, which the mode Node gives to
 * real ones, whatever the configured modes. They read nothing that depends on their pods, so their graph is empty.
 */
export function componentAuthorizer(
  authorizer: Authorizer,
  { groupDomain, gate }: { groupDomain: string; gate: ServerContext['gate'] },
): Authorizer {
  const nodes = nodeAuthorizer({ graph: new NodeGraph(), groupDomain, gate })
  return {
    authorize: (user, attributes, request) =>
      (user.groups.includes('system:nodes') ? nodes : authorizer).authorize(user, attributes, request),
  }
}
