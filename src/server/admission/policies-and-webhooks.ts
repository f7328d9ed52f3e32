/** Admission policies and webhooks, configured by objects or files, in the order of Kubernetes. */

import { ExpressionAuthorizer } from '../../admission/cel-authorizer.ts'
import { MatchIndex } from '../../admission/match-index.ts'
import type { AdmissionObserver } from '../../admission/observer.ts'
import type { Plugin } from '../../admission/plugin.ts'
import { mutatingPolicyPlugin } from '../../admission/policies/mutating.ts'
import { compileMutating, compileValidating, mutatingPolicies, validatingPolicies } from '../../admission/policies/policy.ts'
import { validatingPolicyPlugin } from '../../admission/policies/validating.ts'
import { mutatingWebhooks, validatingWebhooks } from '../../admission/webhooks/dispatch.ts'
import { compileWebhooks, webhooksOf } from '../../admission/webhooks/webhook.ts'
import type { Authorizer } from '../../authz/authorizer.ts'
import type { Client } from '../../client/client.ts'
import { MutatingAdmissionPolicy } from '../../kinds/admissionregistration/mutatingadmissionpolicy.ts'
import { MutatingAdmissionPolicyBinding } from '../../kinds/admissionregistration/mutatingadmissionpolicybinding.ts'
import { MutatingWebhookConfiguration } from '../../kinds/admissionregistration/mutatingwebhookconfiguration.ts'
import { ValidatingAdmissionPolicy } from '../../kinds/admissionregistration/validatingadmissionpolicy.ts'
import { ValidatingAdmissionPolicyBinding } from '../../kinds/admissionregistration/validatingadmissionpolicybinding.ts'
import { ValidatingWebhookConfiguration } from '../../kinds/admissionregistration/validatingwebhookconfiguration.ts'
import { stepOf } from '../../lib/step.ts'
import type { Catalog } from '../../registry/catalog.ts'
import type { Kind } from '../../schema/kind.ts'
import type { AnyObject } from '../../schema/object-meta.ts'
import type { Resource } from '../../schema/resource.ts'
import type { WebhookTransport } from '../../transport/webhook-transport.ts'
import type { Destinations } from '../destinations.ts'
import type { AdmissionSettings } from './admission-configuration.ts'
import type { StaticManifests } from './static-manifests.ts'

export type DynamicAdmissionParts = {
  readonly client: Client
  readonly catalog: Catalog
  readonly authorizer: Authorizer
  readonly namespace: (name: string) => AnyObject | undefined
  readonly observer: AdmissionObserver
  readonly settings: AdmissionSettings
  readonly transport: WebhookTransport
  readonly webhookService: Destinations['webhookService']
  readonly reported: Destinations['reported']
  readonly newUid: () => string
  /** Webhooks and policies from files. */
  readonly manifests: StaticManifests | undefined
  readonly signal: AbortSignal
}

/** The plugins that clients configure by objects: a change applies to every request that starts after it was acknowledged. */
export function dynamicAdmission(parts: DynamicAdmissionParts): readonly Plugin[] {
  const { client, catalog, namespace, observer, settings, transport, newUid, manifests, signal } = parts
  const following = <T>(kinds: readonly Kind<any>[], make: (...objects: Iterable<AnyObject>[]) => T) =>
    follow(client, { kinds, make, manifests, signal })
  const expressions = new ExpressionAuthorizer((user, attributes, request) => stepOf(parts.authorizer.authorize(user, attributes, request)))
  const webhooksIn = (kind: Kind<any>) => {
    const compiled = perGeneration(compileWebhooks)
    return following([kind], configurations => new MatchIndex(webhooksOf(configurations!, compiled)))
  }
  const webhooks = {
    transport,
    resolve: parts.webhookService,
    elsewhere: parts.reported,
    newUid,
    namespace,
    expressions,
    observer,
    mutating: webhooksIn(MutatingWebhookConfiguration),
    validating: webhooksIn(ValidatingWebhookConfiguration),
  }
  const policies = {
    namespace,
    expressions,
    observer,
    resourceOf: (apiVersion: string, kind: string) => catalog.findKind(apiVersion, kind),
    get: (resource: Resource, inside: string, name: string) => client.of(resource).get({ namespace: inside, name }),
    list: (resource: Resource, inside: string) => client.of(resource).list({ namespace: inside }),
  }
  const [compiledMutating, compiledValidating] = [perGeneration(compileMutating), perGeneration(compileValidating)]
  return [
    mutatingPolicyPlugin({
      ...policies,
      policies: following(
        [MutatingAdmissionPolicy, MutatingAdmissionPolicyBinding],
        (all, bindings) => new MatchIndex(mutatingPolicies(all!, bindings!, compiledMutating)),
      ),
    }),
    mutatingWebhooks({ ...webhooks, credentials: settings.mutatingCredentials }),
    validatingPolicyPlugin({
      ...policies,
      policies: following(
        [ValidatingAdmissionPolicy, ValidatingAdmissionPolicyBinding],
        (all, bindings) => new MatchIndex(validatingPolicies(all!, bindings!, compiledValidating)),
      ),
    }),
    validatingWebhooks({ ...webhooks, credentials: settings.validatingCredentials }),
  ]
}

/** A value computed from all objects of some kinds, computed again on demand after one of them has changed. */
function follow<T>(
  client: Client,
  {
    kinds,
    make,
    manifests,
    signal,
  }: {
    readonly kinds: readonly Kind<any>[]
    readonly make: (...objects: Iterable<AnyObject>[]) => T
    readonly manifests: StaticManifests | undefined
    readonly signal: AbortSignal
  },
): () => T {
  let made: { readonly value: T } | undefined
  const clients = kinds.map(kind => client.find(kind))
  for (const each of clients) void each?.watch(() => (made = undefined), signal)
  manifests?.onChange(() => (made = undefined))
  return () => {
    made ??= {
      value: make(
        ...clients.map((each, i) => [...(manifests?.of(kinds[i]!.def.kind) ?? []), ...((each?.list() ?? []) as Iterable<AnyObject>)]),
      ),
    }
    return made.value
  }
}

/** Compiling is expensive: a policy or configuration is compiled again only when its spec has changed. */
export function perGeneration<T>(compile: (stored: AnyObject) => T): (stored: AnyObject) => T {
  const known = new Map<string, { readonly id: string; readonly value: T }>()
  return stored => {
    const { name = '', uid, generation } = stored.metadata
    const id = `${uid}/${generation}`
    const found = known.get(name)
    if (found?.id === id) return found.value
    if (known.size >= MAX_COMPILED) known.clear()
    const value = compile(stored)
    known.set(name, { id, value })
    return value
  }
}
const MAX_COMPILED = 10_000
