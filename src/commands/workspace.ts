/** `keelson workspace`: makes, lists and deletes the workspaces of a server with `--workspaces`. */
import { UsageError } from '../flags/usage-error.ts'
import { replaceFile } from '../lib/private-files.ts'
import { ConfigError } from '../server/config.ts'
import { apiClient } from './api-client.ts'
import { type Arguments, readArguments } from './arguments.ts'
import type { Command } from './command.ts'
import { PLACE_FLAGS, serverOf } from './place.ts'
import { sizeText, tableText } from './text.ts'

const USAGE =
  'keelson workspace create [NAME] [--from workspace/NAME|snapshot/NAME] [--controllers LIST] [--nodes N] [--api SET] [--output FILE] | list | kubeconfig NAME | delete NAME'
const PATH = '/keelson/v1/workspaces'

type Info = { readonly name: string; readonly objects: number; readonly bytes: number; readonly requests: number; readonly created: string }
type Access = Info & { readonly kubeconfig: string }

export const workspace: Command = async args => {
  const given = readArguments(args, { flags: ['from', 'controllers', 'nodes', 'api', 'output', ...PLACE_FLAGS], usage: USAGE })
  const [action = '', name, ...more] = given.rest
  const isKnown = ['create', 'list', 'kubeconfig', 'delete'].includes(action)
  if (!isKnown || more.length > 0 || (action === 'list' && name !== undefined)) throw new UsageError(USAGE)
  if (name === undefined && (action === 'kubeconfig' || action === 'delete')) throw new UsageError(`which workspace? ${USAGE}`)
  const send = sender(given)
  if (action === 'list') {
    const { workspaces } = await send<{ readonly workspaces: readonly Info[] }>('GET', PATH)
    process.stdout.write(workspaces.length === 0 ? 'there are no workspaces\n' : listText(workspaces))
  } else if (action === 'delete') {
    await send('DELETE', pathOf(name!))
    process.stdout.write(`deleted ${name}\n`)
  } else {
    const found = await (action === 'create' ? send<Access>('POST', PATH, optionsOf(given, name)) : send<Access>('GET', pathOf(name!)))
    write(found, given.value('output'))
  }
  return 0
}

const pathOf = (name: string) => `${PATH}/${encodeURIComponent(name)}`

/** Sends requests to the server. Throws ConfigError. */
function sender(given: Arguments): <Body>(method: string, path: string, body?: unknown) => Promise<Body> {
  const api = apiClient(serverOf(given))
  return async <Body>(method: string, path: string, body?: unknown) => {
    const answer = await api.send<Body>(method, path, body)
    if (answer.ok) return answer.body
    // A path that is not served has a plain text for an answer.
    if (answer.status === 404 && !answer.isStatus) throw new ConfigError('this server was started without --workspaces')
    throw new ConfigError(answer.message)
  }
}

function optionsOf(given: Arguments, name: string | undefined): object {
  const [from, controllers, nodes, api] = ['from', 'controllers', 'nodes', 'api'].map(flag => given.value(flag))
  const [, kind, origin] = /^(workspace|snapshot)\/(.+)$/s.exec(from ?? '') ?? []
  if (from !== undefined && kind === undefined) throw new UsageError('--from takes workspace/NAME or snapshot/NAME')
  return {
    ...(name !== undefined && { name }),
    ...(kind !== undefined && { from: { [kind]: origin } }),
    ...(controllers !== undefined && { controllers: controllers.split(',') }),
    ...(nodes !== undefined && { nodes: Number(nodes) }),
    ...(api !== undefined && { api }),
  }
}

/** The kubeconfig has a token: a file of it is for its owner alone. */
function write({ name, kubeconfig }: Access, file: string | undefined): void {
  if (file === undefined) return void process.stdout.write(kubeconfig)
  replaceFile(file, Buffer.from(kubeconfig))
  process.stdout.write(`workspace ${name}  kubeconfig ${file}\n`)
}

function listText(workspaces: readonly Info[]): string {
  const rows = workspaces.map(({ name, objects, bytes, requests, created }) => [
    name,
    String(objects),
    sizeText(bytes),
    String(requests),
    created,
  ])
  return tableText([['NAME', 'OBJECTS', 'SIZE', 'REQUESTS', 'CREATED'], ...rows], [1, 2, 3])
}
