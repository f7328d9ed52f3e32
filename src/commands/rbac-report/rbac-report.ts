/** `keelson rbac-report`: what the users of a test run were refused, which permissions they never used, and the smallest roles they need. */
import { stringifyYaml } from '../../codec/yaml-writer.ts'
import { UsageError } from '../../flags/usage-error.ts'
import type { AccessUse } from '../../public.d.ts'
import { ConfigError } from '../../server/config.ts'
import { type ApiClient, apiClient } from '../api-client.ts'
import { outputOf, readArguments } from '../arguments.ts'
import type { Command } from '../command.ts'
import { PLACE_FLAGS, serverOf } from '../place.ts'
import { sendToTestApi } from '../test-server.ts'
import { type Account, accountsIn, type Binding, type Role, smallestRoles, type Unused, unusedPermissions } from './roles.ts'

const USAGE = 'keelson rbac-report [--user NAME] [--include-refused] [--output text|yaml|json]'
const RBAC = 'rbac.authorization.k8s.io/v1'

export const rbacReport: Command = async args => {
  const given = readArguments(args, { flags: [...PLACE_FLAGS, 'user', 'output'], switches: ['include-refused'], usage: USAGE })
  if (given.rest.length > 0) throw new UsageError(`what is ${given.rest[0]}? ${USAGE}`)
  const output = outputOf(given, ['text', 'yaml', 'json'])
  const api = apiClient(serverOf(given))
  const usage = await sendToTestApi<{ readonly isComplete: boolean; readonly uses: readonly AccessUse[] }>(api, 'GET', 'access-usage')
  const wanted = given.value('user')
  const accounts = accountsIn(usage.uses).filter(({ user }) => wanted === undefined || user === wanted)
  if (accounts.length === 0) throw new ConfigError(nobody(wanted, accountsIn(usage.uses)))
  const granted = await grantsIn(api)
  const reports = accounts.map(account => reportOn(account, granted, given.has('include-refused')))
  if (output === 'json') process.stdout.write(`${JSON.stringify({ isComplete: usage.isComplete, users: reports }, undefined, 2)}\n`)
  else
    process.stdout.write(
      reports.map(report => (output === 'yaml' ? manifestsOf(report) : textOf(report))).join(output === 'yaml' ? '' : '\n'),
    )
  if (!usage.isComplete) process.stderr.write('keelson: the run had too many different requests; some are missing\n')
  return 0
}

function nobody(wanted: string | undefined, accounts: readonly Account[]): string {
  if (wanted === undefined) return 'no user with roles has sent a request; administrators (system:masters) need none'
  const known = accounts.map(({ user }) => user)
  return `the user ${wanted} has sent no request${known.length > 0 ? `; there are ${known.join(', ')}` : ''}`
}

async function read<Body>(api: ApiClient, path: string): Promise<Body> {
  const answer = await api.get<Body>(path)
  if (!answer.ok) throw new ConfigError(answer.message)
  return answer.body
}

async function grantsIn(api: ApiClient): Promise<{ readonly roles: readonly Role[]; readonly bindings: readonly Binding[] }> {
  const all = async <Kind extends string>(plural: string, kind: Kind) => {
    const { items } = await read<{ readonly items: readonly object[] }>(api, `/apis/${RBAC}/${plural}`)
    return items.map(item => ({ ...item, kind }))
  }
  const roles = [...(await all('roles', 'Role')), ...(await all('clusterroles', 'ClusterRole'))] as unknown as Role[]
  const bindings = [...(await all('rolebindings', 'RoleBinding')), ...(await all('clusterrolebindings', 'ClusterRoleBinding'))]
  return { roles, bindings: bindings as unknown as Binding[] }
}

type Report = {
  readonly user: string
  readonly requests: number
  readonly refused: readonly AccessUse[]
  readonly unused: readonly Unused[]
  readonly smallest: readonly object[]
}

function reportOn(account: Account, granted: Parameters<typeof unusedPermissions>[1], includesRefused: boolean): Report {
  const { user, groups: _, uses } = account
  const needed = uses.filter(({ allowed }) => allowed > 0 || includesRefused)
  const name = nameFor(user)
  return {
    user,
    requests: uses.reduce((sum, { allowed, refused }) => sum + allowed + refused, 0),
    refused: uses.filter(({ refused }) => refused > 0),
    unused: unusedPermissions(account, granted),
    smallest: smallestRoles(needed, name).flatMap(role => [{ apiVersion: RBAC, ...role }, bindingOf(role, user)]),
  }
}

/** The name of roles for a user: the last part of a service account's name. */
const nameFor = (user: string): string => {
  const last = user.split(':').at(-1) ?? user
  return (
    last
      .toLowerCase()
      .replaceAll(/[^a-z0-9.-]+/g, '-')
      .replaceAll(/^[-.]+|[-.]+$/g, '') || 'user'
  )
}

function bindingOf({ kind, metadata }: Role, user: string): object {
  const [, namespace, account] = /^system:serviceaccount:([^:]+):([^:]+)$/.exec(user) ?? []
  const subject =
    account === undefined
      ? { apiGroup: 'rbac.authorization.k8s.io', kind: 'User', name: user }
      : { kind: 'ServiceAccount', name: account, namespace }
  return {
    apiVersion: RBAC,
    kind: `${kind}Binding`,
    metadata,
    roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind, name: metadata.name },
    subjects: [subject],
  }
}

const manifestsOf = ({ smallest }: Report): string => smallest.map(object => `---\n${stringifyYaml(object as never)}`).join('')

function textOf(report: Report): string {
  const { user, requests, refused, unused } = report
  const lines = [`${user}: ${requests} requests that need permissions`]
  lines.push('', refused.length === 0 ? 'nothing was refused' : 'refused:')
  for (const use of refused) lines.push(`  ${use.verb} ${targetOf(use)}, ${use.refused === 1 ? 'once' : `${use.refused} times`}`)
  lines.push('', unused.length === 0 ? 'every permission of its roles was used' : 'never used:')
  for (const { role, binding, permissions } of unused) {
    lines.push(`  ${role.kind} ${role.metadata.name} (${binding.kind} ${binding.metadata.name})`)
    for (const { target, verbs, used } of permissions)
      lines.push(used ? `    ${target}: all verbs are allowed; used: ${used.join(', ') || 'none'}` : `    ${target}: ${verbs.join(', ')}`)
  }
  return `${lines.join('\n')}\n\nthe smallest roles for this run:\n${manifestsOf(report)}`
}

function targetOf({ resource, subresource, group, namespace, path }: AccessUse): string {
  if (resource === '') return path
  const whole = subresource === '' ? resource : `${resource}/${subresource}`
  return `${whole}${group === '' ? '' : `.${group}`} ${namespace === '' ? 'in the cluster' : `in ${namespace}`}`
}
