// @confluentinc/kafka-javascript as a servant of the Python tests, by its interface that assigns partitions.
//
// The commands are those of ../go/main.go.
'use strict';

const { AdminClient, KafkaConsumer, Producer } = require('@confluentinc/kafka-javascript');
const { readRecords, writeConsumed, writeOffsets } = require('./records');
const { serve } = require('./servant');

const TIMEOUT_MS = 30_000;
const QUEUE_FULL = -184;
const TOPIC_EXISTS = 36;

function connected(client) {
  return new Promise((resolve, reject) => {
    client.on('event.error', reject);
    client.connect({ timeout: TIMEOUT_MS }, (failure) => (failure ? reject(failure) : resolve(client)));
  });
}

function called(work) {
  return new Promise((resolve, reject) => {
    work((failure, result) => (failure ? reject(failure) : resolve(result)));
  });
}

async function produce(bootstrap, topic, source, target, ...options) {
  const how = Object.fromEntries(options.map((option) => option.split('=')));
  const records = readRecords(source);
  const offsets = new Array(records.length).fill(-1);
  const producer = await connected(
    new Producer({
      'bootstrap.servers': bootstrap, 'compression.codec': how.codec, acks: Number(how.acks),
      'enable.idempotence': how.idempotent === 'true', 'linger.ms': 5, dr_cb: true,
    }),
  );
  producer.setPollInterval(5);
  let left = records.length;
  const delivered = new Promise((resolve, reject) => {
    producer.on('delivery-report', (failure, report) => {
      if (failure) reject(failure);
      if (how.acks !== '0') offsets[report.opaque] = report.offset;
      left -= 1;
      if (left === 0) resolve();
    });
  });
  for (let i = 0; i < records.length; ) {
    const { partition, value, key, timestamp, headers } = records[i];
    try {
      const pairs = headers.map(([name, content]) => ({ [name]: content }));
      producer.produce(topic, partition, value, key, Number(timestamp), i, pairs);
      i += 1;
    } catch (failure) {
      if (failure.code !== QUEUE_FULL) throw failure;
      await new Promise((resolve) => setTimeout(resolve, 5));
    }
  }
  await delivered;
  await called((done) => producer.disconnect(TIMEOUT_MS, done));
  writeOffsets(target, offsets);
  return '';
}

async function withConsumer(bootstrap, work) {
  const consumer = await connected(
    new KafkaConsumer({ 'bootstrap.servers': bootstrap, 'group.id': 'unused', 'enable.auto.commit': false }, {}),
  );
  try {
    return await work(consumer);
  } finally {
    await called((done) => consumer.disconnect(done));
  }
}

async function consume(bootstrap, topic, count, start, target) {
  const found = await withConsumer(bootstrap, async (consumer) => {
    consumer.assign(
      start.split(',').map((word) => {
        const [partition, offset] = word.split(':').map(Number);
        return { topic, partition, offset };
      }),
    );
    const records = [];
    while (records.length < Number(count)) {
      for (const seen of await called((done) => consumer.consume(1000, done))) {
        const headers = (seen.headers ?? []).flatMap((pair) => Object.entries(pair));
        records.push({ ...seen, key: bytesOf(seen.key), headers: headers.map(([k, v]) => [k, bytesOf(v)]) });
      }
    }
    return records;
  });
  writeConsumed(target, found);
  return '';
}

function bytesOf(content) {
  return content === null || content === undefined ? null : Buffer.from(content);
}

async function offsetsForTime(bootstrap, topic, partitions, timestamp) {
  return withConsumer(bootstrap, async (consumer) => {
    const asked = Array.from({ length: Number(partitions) }, (_, partition) => ({
      topic, partition, offset: Number(timestamp),
    }));
    const found = await called((done) => consumer.offsetsForTimes(asked, TIMEOUT_MS, done));
    return found.map(({ partition, offset }) => `${partition}:${offset < 0 ? -1 : offset}`).join(' ');
  });
}

async function offsetRange(bootstrap, topic, partitions) {
  return withConsumer(bootstrap, async (consumer) => {
    const ranges = [];
    for (let partition = 0; partition < Number(partitions); partition += 1) {
      const found = await called((done) => consumer.queryWatermarkOffsets(topic, partition, TIMEOUT_MS, done));
      ranges.push(`${partition}:${found.lowOffset}:${found.highOffset}`);
    }
    return ranges.join(' ');
  });
}

// What an administrator does with one topic; the answer is JSON. This library cannot ask for a topic's configs.
async function administer(bootstrap, topic) {
  const admin = AdminClient.create({ 'bootstrap.servers': bootstrap });
  try {
    const wanted = { topic, num_partitions: 2, replication_factor: 1, config: { 'retention.ms': '3600000' } };
    const create = () => called((done) => admin.createTopic(wanted, TIMEOUT_MS, done));
    const partitions = async () => {
      const [described] = await called((done) => admin.describeTopics([topic], { timeout: TIMEOUT_MS }, done));
      return described.partitions.length;
    };
    const listed = async () => {
      const names = await called((done) => admin.listTopics({ timeout: TIMEOUT_MS }, done));
      return names.includes(topic);
    };
    await create();
    const again = await create().then(() => 'made', (failure) => (failure.code === TOPIC_EXISTS ? 'exists' : `${failure}`));
    const saw = { created: true, again, partitions: await partitions() };
    await called((done) => admin.createPartitions(topic, 3, TIMEOUT_MS, done));
    saw.grown = await partitions();
    saw.listed = await listed();
    await called((done) => admin.deleteTopic(topic, TIMEOUT_MS, done));
    saw.left = await listed();
    return JSON.stringify(saw);
  } finally {
    admin.disconnect();
  }
}

serve({ produce, consume, 'offsets-for-time': offsetsForTime, 'offset-range': offsetRange, administer });
