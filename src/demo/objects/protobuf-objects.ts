// Objects in Kubernetes' protobuf: since 1.32 `kubectl create configmap` and its siblings send nothing else.
// Reads the kinds those commands create, from a table; what the table lacks is 415, never lost in silence.
// Field numbers: k8s.io/api and k8s.io/apimachinery, generated.proto.

import { ApiError } from './errors.ts';
import { type Field, readFields } from './protobuf.ts';

export const PROTOBUF = 'application/vnd.kubernetes.protobuf';

// A message, then its fields as NUMBER:NAME:TYPE. Types: s(tring), i(nt), b(ool), bytes, map, quantities, another
// message; `*` is a list, `!` keeps a zero (the field is a pointer in Go), `inline` has its fields in its parent.
const MESSAGES = `
ObjectMeta 1:name:s 2:generateName:s 3:namespace:s 5:uid:s 6:resourceVersion:s 11:labels:map 12:annotations:map 14:finalizers:s*
LabelSelector 1:matchLabels:map 2:matchExpressions:LabelSelectorRequirement*
LabelSelectorRequirement 1:key:s 2:operator:s 3:values:s*
IntOrString 1:type:i 2:intVal:i! 3:strVal:s
DeleteOptions 1:gracePeriodSeconds:i! 2:preconditions:Preconditions 4:propagationPolicy:s 5:dryRun:s*
Preconditions 1:uid:s 2:resourceVersion:s
Eviction 1:metadata:ObjectMeta 2:deleteOptions:DeleteOptions
ConfigMap 1:metadata:ObjectMeta 2:data:map 3:binaryData:bytesmap 4:immutable:b
Secret 1:metadata:ObjectMeta 2:data:bytesmap 3:type:s 4:stringData:map 5:immutable:b
Namespace 1:metadata:ObjectMeta
ServiceAccount 1:metadata:ObjectMeta
ResourceQuota 1:metadata:ObjectMeta 2:spec:ResourceQuotaSpec
ResourceQuotaSpec 1:hard:quantities 2:scopes:s*
Service 1:metadata:ObjectMeta 2:spec:ServiceSpec
ServiceSpec 1:ports:ServicePort* 2:selector:map 3:clusterIP:s 4:type:s 10:externalName:s
ServicePort 1:name:s 2:protocol:s 3:port:i 4:targetPort:IntOrString 5:nodePort:i
Pod 1:metadata:ObjectMeta 2:spec:PodSpec
PodTemplateSpec 1:metadata:ObjectMeta 2:spec:PodSpec
PodSpec 2:containers:Container* 3:restartPolicy:s
Container 1:name:s 2:image:s 3:command:s* 4:args:s* 6:ports:ContainerPort* 7:env:EnvVar* 8:resources:ResourceRequirements
ContainerPort 1:name:s 3:containerPort:i 4:protocol:s
EnvVar 1:name:s 2:value:s
ResourceRequirements 1:limits:quantities 2:requests:quantities
Deployment 1:metadata:ObjectMeta 2:spec:DeploymentSpec
DeploymentSpec 1:replicas:i! 2:selector:LabelSelector 3:template:PodTemplateSpec
CronJob 1:metadata:ObjectMeta 2:spec:CronJobSpec
CronJobSpec 1:schedule:s 4:suspend:b 5:jobTemplate:JobTemplateSpec
JobTemplateSpec 1:metadata:ObjectMeta 2:spec:JobSpec
Job 1:metadata:ObjectMeta 2:spec:JobSpec
JobSpec 1:parallelism:i! 2:completions:i! 4:selector:LabelSelector 6:template:PodTemplateSpec 7:backoffLimit:i!
HorizontalPodAutoscaler 1:metadata:ObjectMeta 2:spec:HorizontalPodAutoscalerSpec
HorizontalPodAutoscalerSpec 1:scaleTargetRef:CrossVersionObjectReference 2:minReplicas:i! 3:maxReplicas:i 4:targetCPUUtilizationPercentage:i!
CrossVersionObjectReference 1:kind:s 2:name:s 3:apiVersion:s
Ingress 1:metadata:ObjectMeta 2:spec:IngressSpec
IngressSpec 1:defaultBackend:IngressBackend 2:tls:IngressTLS* 3:rules:IngressRule* 4:ingressClassName:s
IngressBackend 4:service:IngressServiceBackend
IngressServiceBackend 1:name:s 2:port:ServiceBackendPort
ServiceBackendPort 1:name:s 2:number:i
IngressTLS 1:hosts:s* 2:secretName:s
IngressRule 1:host:s 2:inline:IngressRuleValue
IngressRuleValue 1:http:HTTPIngressRuleValue
HTTPIngressRuleValue 1:paths:HTTPIngressPath*
HTTPIngressPath 1:path:s 2:backend:IngressBackend 3:pathType:s
PodDisruptionBudget 1:metadata:ObjectMeta 2:spec:PodDisruptionBudgetSpec
PodDisruptionBudgetSpec 1:minAvailable:IntOrString! 2:selector:LabelSelector 3:maxUnavailable:IntOrString!
PriorityClass 1:metadata:ObjectMeta 2:value:i 3:globalDefault:b 4:description:s 5:preemptionPolicy:s
Role 1:metadata:ObjectMeta 2:rules:PolicyRule*
ClusterRole 1:metadata:ObjectMeta 2:rules:PolicyRule* 3:aggregationRule:AggregationRule
AggregationRule 1:clusterRoleSelectors:LabelSelector*
PolicyRule 1:verbs:s* 2:apiGroups:s* 3:resources:s* 4:resourceNames:s* 5:nonResourceURLs:s*
RoleBinding 1:metadata:ObjectMeta 2:subjects:Subject* 3:roleRef:RoleRef
ClusterRoleBinding 1:metadata:ObjectMeta 2:subjects:Subject* 3:roleRef:RoleRef
Subject 1:kind:s 2:apiGroup:s 3:name:s 4:namespace:s
RoleRef 1:apiGroup:s 2:kind:s 3:name:s
SelfSubjectReview 1:metadata:ObjectMeta
SelfSubjectAccessReview 1:metadata:ObjectMeta 2:spec:SelfSubjectAccessReviewSpec
SelfSubjectAccessReviewSpec 1:resourceAttributes:ResourceAttributes 2:nonResourceAttributes:NonResourceAttributes
ResourceAttributes 1:namespace:s 2:verb:s 3:group:s 4:version:s 5:resource:s 6:subresource:s 7:name:s
NonResourceAttributes 1:path:s 2:verb:s
`;

interface FieldRule {
  readonly name: string;
  readonly type: string;
  readonly list: boolean;
  readonly keepZero: boolean;
}

const RULES = new Map(MESSAGES.trim().split('\n').map(parseLine));

function parseLine(line: string): [string, Map<number, FieldRule>] {
  const [message = '', ...fields] = line.split(' ');
  const rules = fields.map((field): [number, FieldRule] => {
    const [number, name = '', type = ''] = field.split(':');
    const rule = {
      name,
      type: type.replace(/[*!]$/, ''),
      list: type.endsWith('*'),
      keepZero: type.endsWith('!'),
    };
    return [Number(number), rule];
  });
  return [message, new Map(rules)];
}

const MAGIC = Buffer.from('k8s\0', 'latin1');

/**
 * An object as a client sent it: `k8s\0`, then runtime.Unknown with the type and the raw message.
 * @throws ApiError 400 when it is no such thing, 415 when the table has no room for it.
 */
export function readProtobufObject(body: Buffer): Record<string, unknown> {
  if (!body.subarray(0, MAGIC.length).equals(MAGIC)) {
    throw new ApiError(400, 'BadRequest', 'provided data does not appear to be a protobuf message');
  }
  try {
    const unknown = readFields(body.subarray(MAGIC.length));
    const typeMeta = readFields(bytesOf(unknown, 1));
    const [apiVersion, kind] = [bytesOf(typeMeta, 1).toString(), bytesOf(typeMeta, 2).toString()];
    return { apiVersion, kind, ...readMessage(kind, bytesOf(unknown, 2)) };
  } catch (error) {
    throw error instanceof RangeError
      ? new ApiError(400, 'BadRequest', `unable to read: ${error.message}`)
      : error;
  }
}

function bytesOf(fields: readonly Field[], number: number): Buffer {
  const value = fields.find((each) => each.number === number)?.value;
  return Buffer.isBuffer(value) ? value : Buffer.alloc(0);
}

/** Go writes fields that are not pointers even when they are empty: those are left out, as in JSON. */
function readMessage(message: string, raw: Buffer): Record<string, unknown> {
  const rules = RULES.get(message) ?? cannotRead(message);
  const result: Record<string, unknown> = {};
  for (const { number, value } of readFields(raw)) {
    const rule = rules.get(number);
    if (rule !== undefined) {
      setField(result, rule, readValue(rule, value));
    } else if (!isEmpty(value)) {
      cannotRead(`field ${number} of ${message}`);
    }
  }
  return result;
}

function setField(result: Record<string, unknown>, rule: FieldRule, value: unknown): void {
  if (rule.list) {
    result[rule.name] = [...((result[rule.name] as unknown[] | undefined) ?? []), value];
  } else if (rule.name === 'inline') {
    Object.assign(result, value);
  } else if (rule.keepZero || !isZero(value)) {
    result[rule.name] = merge(result[rule.name], value);
  }
}

function isZero(value: unknown): boolean {
  const empty = typeof value === 'object' && value !== null && Object.keys(value).length === 0;
  return empty || value === '' || value === 0 || value === false;
}

/** Maps come entry by entry. */
function merge(before: unknown, value: unknown): unknown {
  return typeof before === 'object' && typeof value === 'object' ? { ...before, ...value } : value;
}

function readValue({ type }: FieldRule, value: bigint | Buffer): unknown {
  if (!Buffer.isBuffer(value)) {
    return type === 'b' ? value !== 0n : Number(BigInt.asIntN(64, value));
  }
  switch (type) {
    case 's':
      return value.toString();
    case 'map':
      return entry(value, (each) => each.toString());
    case 'bytesmap':
      return entry(value, (each) => each.toString('base64'));
    case 'quantities':
      return entry(value, (each) => bytesOf(readFields(each), 1).toString());
    case 'IntOrString':
      return intOrString(readMessage(type, value));
    default:
      return readMessage(type, value);
  }
}

function entry(raw: Buffer, read: (value: Buffer) => string): Record<string, string> {
  const fields = readFields(raw);
  return { [bytesOf(fields, 1).toString()]: read(bytesOf(fields, 2)) };
}

function intOrString(message: Record<string, unknown>): unknown {
  return message['type'] === 1 ? (message['strVal'] ?? '') : (message['intVal'] ?? 0);
}

/** Nothing would be lost with it. */
function isEmpty(value: bigint | Buffer): boolean {
  if (!Buffer.isBuffer(value)) {
    return value === 0n;
  }
  try {
    return readFields(value).every((each) => isEmpty(each.value));
  } catch {
    return false;
  }
}

function cannotRead(what: string): never {
  const message = `the simulated servers cannot read ${what} in protobuf; send application/json`;
  throw new ApiError(415, 'UnsupportedMediaType', message);
}
