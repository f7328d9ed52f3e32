/** One webhook of a configuration, ready to be matched and called. */
import { AdmissionCompiler } from '../../cel/kubernetes/admission.ts'
import type { LabelSelector } from '../../kinds/rules/meta.ts'
import type { AnyObject } from '../../schema/object-meta.ts'
import { LazyPrograms } from '../lazy-programs.ts'
import { byOriginAndName, isFromManifest } from '../manifest-origin.ts'
import { type Condition, type Conditions, conditionsOf } from '../match-conditions.ts'
import { RequestMatcher, type Rule } from '../matching.ts'
import { REVIEW_VERSIONS, type ReviewVersion } from './review.ts'

export type ClientConfig = {
  readonly url?: string
  readonly caBundle?: string
  readonly service?: { readonly namespace: string; readonly name: string; readonly path?: string; readonly port?: number }
}

/** A webhook as configurations declare it, mutating or validating. */
type Declared = {
  readonly name: string
  readonly clientConfig: ClientConfig
  readonly rules?: readonly Rule[]
  readonly failurePolicy?: string
  readonly matchPolicy?: string
  readonly namespaceSelector?: LabelSelector
  readonly objectSelector?: LabelSelector
  readonly sideEffects?: string
  readonly timeoutSeconds?: number
  readonly admissionReviewVersions?: readonly string[]
  readonly reinvocationPolicy?: string
  readonly matchConditions?: readonly { readonly name: string; readonly expression: string }[]
}

export type Webhook = {
  readonly name: string
  readonly configuration: string
  /** Whether it comes from a manifest file. */
  readonly isStatic: boolean
  /** Tells it from all others, also from one of the same name. */
  readonly id: string
  readonly client: ClientConfig
  readonly matcher: RequestMatcher
  readonly conditions: Conditions
  readonly failsOpen: boolean
  readonly hasSideEffects: boolean
  readonly timeoutSeconds: number
  /** The first version of reviews that both sides know. */
  readonly reviewVersion: ReviewVersion | undefined
  readonly isReinvoked: boolean
}

const DEFAULT_TIMEOUT_SECONDS = 10

/** The webhooks of all configurations, in the order in which they are called: configurations by origin and name, webhooks as listed. */
export function webhooksOf(
  configurations: Iterable<AnyObject>,
  compiled: (configuration: AnyObject) => readonly Webhook[] = compileWebhooks,
): Webhook[] {
  return [...configurations].sort(byOriginAndName).flatMap(compiled)
}

/** The webhooks of one configuration. */
export function compileWebhooks(stored: AnyObject): readonly Webhook[] {
  const shared = new SharedConditions()
  const isStatic = isFromManifest(stored)
  return ((stored['webhooks'] ?? []) as readonly Declared[]).map((declared, index) =>
    webhookOf(declared, { configuration: stored.metadata.name!, isStatic, index, shared }),
  )
}

type Origin = {
  readonly configuration: string
  readonly isStatic: boolean
  readonly index: number
  readonly shared: SharedConditions
}

function webhookOf(declared: Declared, { configuration, isStatic, index, shared }: Origin): Webhook {
  const { name, clientConfig, rules = [], matchPolicy, namespaceSelector, objectSelector, matchConditions = [] } = declared
  return {
    name,
    configuration,
    isStatic,
    id: `${configuration}/${name}/${index}`,
    client: clientConfig,
    matcher: new RequestMatcher({ rules, matchPolicy, namespaceSelector, objectSelector }),
    conditions: shared.of(matchConditions),
    failsOpen: declared.failurePolicy === 'Ignore',
    hasSideEffects: declared.sideEffects !== 'None' && declared.sideEffects !== 'NoneOnDryRun',
    timeoutSeconds: declared.timeoutSeconds ?? DEFAULT_TIMEOUT_SECONDS,
    reviewVersion: declared.admissionReviewVersions?.find((v): v is ReviewVersion => (REVIEW_VERSIONS as readonly string[]).includes(v)),
    isReinvoked: declared.reinvocationPolicy === 'IfNeeded',
  }
}

/** Conditions of the webhooks of a configuration: those that are the same for several are compiled and evaluated once. */
class SharedConditions {
  readonly #known = new Map<string, Conditions>()

  of(declared: NonNullable<Declared['matchConditions']>): Conditions {
    const key = JSON.stringify(declared.map(({ name, expression }) => [name, expression]))
    let conditions = this.#known.get(key)
    if (!conditions) this.#known.set(key, (conditions = compileConditions(declared)))
    return conditions
  }
}

function compileConditions(declared: NonNullable<Declared['matchConditions']>): Conditions {
  const programs = new LazyPrograms()
  const variables = { hasAuthorizer: true }
  const conditionOf = ({ name, expression: text }: (typeof declared)[number]): Condition => ({
    name,
    expression: text,
    program: programs.of(() => new AdmissionCompiler().compile({ text, use: 'condition', variables, age: 'stored' })),
  })
  return conditionsOf(declared.map(conditionOf), programs)
}
