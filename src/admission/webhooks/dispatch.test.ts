import assert from 'node:assert/strict'
import { test } from 'node:test'
import { attributesOf, drive } from '../../../test/kits/admission.ts'
import { ConfigMap } from '../../kinds/core/configmap.ts'
import { resourceOf } from '../../schema/resource.ts'
import { WebhookTransport } from '../../transport/webhook-transport.ts'
import { ExpressionAuthorizer } from '../cel-authorizer.ts'
import { MatchIndex } from '../match-index.ts'
import type { AdmissionObserver } from '../observer.ts'
import { Reinvocation } from '../reinvocation.ts'
import { mutatingWebhooks, validatingWebhooks, type WebhookParts } from './dispatch.ts'
import { webhooksOf } from './webhook.ts'

const resource = resourceOf(ConfigMap, 'k8s.io')

// The API does not take such configurations any more, but those that were stored before may say so.
for (const sideEffects of ['Some', 'Unknown', undefined])
  test(`a webhook with side effects ${sideEffects ?? 'that are not told'} rejects dry runs, and is not called`, async () => {
    const rejections: object[] = []
    const observer = new Proxy({} as AdmissionObserver, {
      get: (_, name) => (told: object) => void (name === 'webhookRejected' && rejections.push(told)),
    })
    const rules = [{ apiGroups: [''], apiVersions: ['v1'], operations: ['*'], resources: ['configmaps'] }]
    const more = { admissionReviewVersions: ['v1'], failurePolicy: 'Ignore' }
    const webhooks = [{ name: 'a.example.com', clientConfig: { url: 'https://none.invalid/' }, rules, sideEffects, ...more }]
    const index = new MatchIndex(webhooksOf([{ apiVersion: '', kind: '', metadata: { name: 'c' }, webhooks }]))
    const parts: WebhookParts = {
      transport: new WebhookTransport(),
      resolve: () => assert.fail('nobody is to be called'),
      newUid: () => assert.fail('nobody is to be called'),
      namespace: () => undefined,
      expressions: new ExpressionAuthorizer(() => ({ verdict: 'deny', reason: '' })),
      observer,
      mutating: () => index,
      validating: () => index,
    }
    const object = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'c' } }
    const attributes = attributesOf(resource, object, { namespace: 'n', name: 'c', dryRun: true })
    const wanted = { code: 400, reason: 'BadRequest', message: 'admission webhook "a.example.com" does not support dry run' }
    await assert.rejects(async () => drive(mutatingWebhooks(parts).mutate!(attributes, new Reinvocation())), wanted)
    await assert.rejects(async () => drive(validatingWebhooks(parts).validate!(attributes)), wanted)
    const rejection = { name: 'a.example.com', operation: 'CREATE', errorType: 'apiserver_internal_error', code: 0 }
    assert.deepEqual(rejections, [
      { ...rejection, type: 'admit' },
      { ...rejection, type: 'validating' },
    ])
  })
