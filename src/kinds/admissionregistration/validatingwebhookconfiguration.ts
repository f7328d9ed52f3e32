/** ValidatingWebhookConfiguration names webhooks that may refuse a request, without changing it. */
import { age } from '../../schema/columns.ts'
import { defineKind, type ObjectOf } from '../../schema/kind.ts'
import { keyed } from '../../schema/types.ts'
import { validateNotStatic, warnAboutStatic } from './static-names.ts'
import { validateWebhooks, warnAboutRules, webhooksWork } from './webhook-rules.ts'
import { ValidatingWebhook } from './webhook-shapes.ts'

export const ValidatingWebhookConfiguration = defineKind({
  group: 'admissionregistration.{group_domain}',
  version: 'v1',
  kind: 'ValidatingWebhookConfiguration',
  scope: 'Cluster',
  names: { plural: 'validatingwebhookconfigurations', categories: ['api-extensions'] },
  doc: 'Webhooks that may refuse a request.',
  unqualifiedFinalizers: true,
  fields: { webhooks: [2, keyed(ValidatingWebhook, 'name').mergedBy('name'), 'The webhooks, called side by side.'] },
  generation: o => o.webhooks,
  allowUnconditionalUpdate: false,

  ruleWork: ({ webhooks = [] }) => webhooksWork(webhooks),
  *validate({ metadata, webhooks = [] }, at, { old, ...ctx }) {
    yield* validateWebhooks(webhooks, at.webhooks, old?.webhooks ?? (old && []))
    if (old === undefined) yield* validateNotStatic(metadata.name, at.metadata.name, ctx)
  },
  *warn({ metadata, webhooks = [] }, _old, ctx) {
    yield* warnAboutStatic(metadata.name, ctx)
    yield* warnAboutRules(webhooks, ctx)
  },

  columns: {
    Webhooks: ['integer', o => o.webhooks?.length ?? 0, 'Webhooks indicates the number of webhooks registered in this configuration'],
    Age: age,
  },
})

/** An object of the kind ValidatingWebhookConfiguration. */
export type ValidatingWebhookConfiguration = ObjectOf<typeof ValidatingWebhookConfiguration>
