/**
 * A pod or a Service can stand for a process at an address, to which the server then connects on behalf of others. Only those who may
 * `use` the resource `addresses` of the group sim.keelson.dev set or change such an address: administrators, unless a role says otherwise.
 * Templates count as the pods that controllers make from them. It cannot be turned off.
 */
import { isObject } from '../../lib/json-value.ts'
import type { Step } from '../../lib/step.ts'
import { forbiddenRequest } from '../../schema/status-error.ts'
import type { Attributes } from '../attributes.ts'
import type { May } from '../permission.ts'
import type { Plugin } from '../plugin.ts'

const GROUP = 'sim.keelson.dev'
const ANNOTATIONS = [`${GROUP}/address`, `${GROUP}/ports`]

/** Where the metadata of pods and templates is in an object. */
const PATHS: readonly (readonly string[])[] = [[], ['spec', 'template'], ['spec', 'jobTemplate', 'spec', 'template']]

/** Controllers that copy a template into another object: whoever wrote the template was asked. */
const COPYING = new Set(
  ['replication-controller', 'replicaset-controller', 'deployment-controller', 'statefulset-controller', 'daemon-set-controller'].concat([
    'job-controller',
    'cronjob-controller',
  ]),
)
const isCopying = (user: string): boolean => {
  const [, name = ''] = /^system:serviceaccount:kube-system:(.+)$/.exec(user) ?? []
  return COPYING.has(name)
}

export function localAddressPermission({ may }: { readonly may: May }): Plugin {
  return {
    name: 'LocalAddressPermission',
    plurals: [
      ...['pods', 'services', 'replicationcontrollers', 'replicasets', 'deployments', 'statefulsets', 'daemonsets', 'jobs', 'cronjobs'],
    ],
    *validate(attributes) {
      const { operation, object, oldObject, ctx } = attributes
      if (!object || (operation !== 'CREATE' && operation !== 'UPDATE')) return
      const changed = PATHS.flatMap(path => ANNOTATIONS.filter(name => valueAt(object, path, name) !== valueAt(oldObject, path, name)))
      // Taking an address away leads nowhere new.
      const [set] = changed.filter(name => PATHS.some(path => valueAt(object, path, name) !== undefined))
      if (set === undefined || isCopying(ctx.user.name)) return
      yield* check(attributes, set, may)
    },
  }
}

function* check({ resource, name, namespace, ctx }: Attributes, annotation: string, may: May): Step<void> {
  const using = {
    verb: 'use',
    path: '',
    resource: { group: GROUP, version: '*', plural: 'addresses', subresource: '', namespace, name: '' },
  }
  if (yield* may(ctx.user, using)) return
  throw forbiddenRequest(
    resource,
    name,
    `user "${ctx.user.name}" cannot set the annotation ${annotation}: the server would connect to that address; it needs the verb "use" on "addresses" of the API group "${GROUP}"`,
  )
}

function valueAt(object: unknown, path: readonly string[], annotation: string): unknown {
  let at = object
  for (const key of [...path, 'metadata', 'annotations']) at = isObject(at) ? at[key] : undefined
  return isObject(at) ? at[annotation] : undefined
}
