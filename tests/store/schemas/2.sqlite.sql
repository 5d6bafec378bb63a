CREATE TABLE zetetic_schema (
	application TEXT NOT NULL,
	version INTEGER NOT NULL,
	PRIMARY KEY (application)
);

CREATE TABLE zetetic_migrations (
	version_num VARCHAR(32) NOT NULL,
	CONSTRAINT zetetic_migrations_pkc PRIMARY KEY (version_num)
);

CREATE TABLE pages (
	sha256 TEXT NOT NULL,
	text TEXT NOT NULL,
	url TEXT NOT NULL,
	final_url TEXT NOT NULL,
	title TEXT NOT NULL,
	media_type TEXT NOT NULL,
	fetched_at VARCHAR NOT NULL,
	PRIMARY KEY (sha256)
);

CREATE TABLE leases (
	run_id TEXT NOT NULL CHECK (run_id <> ''),
	owner TEXT NOT NULL CHECK (owner <> ''),
	until VARCHAR NOT NULL,
	PRIMARY KEY (run_id)
);

CREATE TABLE research_runs (
	run_id TEXT NOT NULL CHECK (run_id <> ''),
	objective TEXT NOT NULL CHECK (objective <> ''),
	scope TEXT NOT NULL,
	exclusions TEXT NOT NULL,
	criteria TEXT NOT NULL,
	user_id TEXT NOT NULL,
	notes_id TEXT NOT NULL,
	mode TEXT NOT NULL,
	model TEXT NOT NULL,
	thresholds TEXT NOT NULL,
	forked_from TEXT NOT NULL,
	status TEXT NOT NULL CHECK (status IN ('running', 'complete', 'reported', 'blocked', 'stopped', 'failed')),
	phase TEXT NOT NULL CHECK (phase IN ('exploration', 'synthesis')),
	stop_reason TEXT NOT NULL,
	stop_detail TEXT NOT NULL,
	turns BIGINT NOT NULL CHECK (turns >= 0),
	attempts BIGINT NOT NULL CHECK (attempts >= 0),
	calls BIGINT NOT NULL CHECK (calls >= 0),
	input_tokens BIGINT NOT NULL CHECK (input_tokens >= 0),
	output_tokens BIGINT NOT NULL CHECK (output_tokens >= 0),
	cached_tokens BIGINT NOT NULL CHECK (cached_tokens >= 0),
	usd FLOAT NOT NULL,
	conclusion TEXT NOT NULL,
	conclusion_version BIGINT NOT NULL CHECK (conclusion_version >= 0),
	report TEXT NOT NULL,
	created_at VARCHAR NOT NULL,
	updated_at VARCHAR NOT NULL,
	PRIMARY KEY (run_id)
);

CREATE TABLE events (
	run_id TEXT NOT NULL,
	seq INTEGER NOT NULL CHECK (seq >= 1),
	event TEXT NOT NULL,
	worker TEXT NOT NULL,
	step_key TEXT NOT NULL,
	at VARCHAR NOT NULL,
	body TEXT NOT NULL,
	PRIMARY KEY (run_id, seq),
	FOREIGN KEY(run_id) REFERENCES research_runs (run_id) ON DELETE CASCADE DEFERRABLE INITIALLY DEFERRED
);

CREATE TABLE snapshots (
	run_id TEXT NOT NULL,
	seq INTEGER NOT NULL CHECK (seq >= 1),
	shape TEXT NOT NULL,
	body TEXT NOT NULL,
	PRIMARY KEY (run_id, seq),
	FOREIGN KEY(run_id) REFERENCES research_runs (run_id) ON DELETE CASCADE DEFERRABLE INITIALLY DEFERRED
);

CREATE TABLE journal (
	"key" TEXT NOT NULL CHECK (key <> ''),
	run_id TEXT NOT NULL,
	role TEXT NOT NULL,
	model TEXT NOT NULL,
	fingerprint TEXT NOT NULL,
	request TEXT NOT NULL,
	answer TEXT NOT NULL,
	error TEXT NOT NULL,
	input_tokens BIGINT NOT NULL CHECK (input_tokens >= 0),
	output_tokens BIGINT NOT NULL CHECK (output_tokens >= 0),
	cached_tokens BIGINT NOT NULL CHECK (cached_tokens >= 0),
	usd FLOAT,
	latency_seconds FLOAT NOT NULL,
	repairs TEXT NOT NULL,
	event_seq BIGINT NOT NULL CHECK (event_seq >= 1),
	at VARCHAR NOT NULL,
	PRIMARY KEY ("key"),
	FOREIGN KEY(run_id) REFERENCES research_runs (run_id) ON DELETE CASCADE DEFERRABLE INITIALLY DEFERRED
);

CREATE INDEX journal_run ON journal (run_id, event_seq);

CREATE TABLE effects (
	"key" TEXT NOT NULL CHECK (key <> ''),
	call_id TEXT NOT NULL CHECK (call_id <> ''),
	run_id TEXT NOT NULL,
	text TEXT NOT NULL,
	payload TEXT NOT NULL,
	at VARCHAR NOT NULL,
	PRIMARY KEY ("key", call_id),
	FOREIGN KEY(run_id) REFERENCES research_runs (run_id) ON DELETE CASCADE DEFERRABLE INITIALLY DEFERRED
);

CREATE INDEX effects_run ON effects (run_id);

CREATE TABLE research_states (
	run_id TEXT NOT NULL,
	seq INTEGER NOT NULL CHECK (seq >= 0),
	state TEXT NOT NULL CHECK (state IN ('planning', 'selecting', 'acting', 'extracting', 'verifying', 'challenging', 'consolidating', 'evaluating', 'synthesizing')),
	question_id TEXT NOT NULL,
	detail TEXT NOT NULL,
	forced_tool TEXT NOT NULL,
	is_turn BOOLEAN NOT NULL,
	created_at VARCHAR NOT NULL,
	PRIMARY KEY (run_id, seq),
	FOREIGN KEY(run_id) REFERENCES research_runs (run_id) ON DELETE CASCADE DEFERRABLE INITIALLY DEFERRED
);

CREATE TABLE frontier_questions (
	run_id TEXT NOT NULL,
	id TEXT NOT NULL,
	parent_id TEXT,
	depth BIGINT NOT NULL CHECK (depth >= 0),
	kind TEXT NOT NULL CHECK (kind IN ('question', 'hypothesis')),
	question TEXT NOT NULL CHECK (question <> ''),
	rationale TEXT NOT NULL,
	priority FLOAT NOT NULL CHECK (priority >= 0 AND priority <= 1),
	status TEXT NOT NULL CHECK (status IN ('pending', 'in_progress', 'resolved', 'blocked', 'unresolvable', 'pruned')),
	validation_criteria TEXT NOT NULL,
	target_sources TEXT NOT NULL,
	answer TEXT NOT NULL,
	claim_ids TEXT NOT NULL,
	why_unverified TEXT NOT NULL,
	why_unchallenged TEXT NOT NULL,
	why_no_refuting TEXT NOT NULL,
	pair TEXT NOT NULL,
	spawned_by TEXT NOT NULL CHECK (spawned_by IN ('agent', 'code', 'person')),
	attempts BIGINT NOT NULL CHECK (attempts >= 0),
	unverified_streak BIGINT NOT NULL CHECK (unverified_streak >= 0),
	unproductive_streak BIGINT NOT NULL CHECK (unproductive_streak >= 0),
	steer TEXT NOT NULL,
	partial TEXT NOT NULL,
	worker TEXT NOT NULL,
	lease TEXT DEFAULT '' NOT NULL,
	created_at VARCHAR NOT NULL,
	updated_at VARCHAR NOT NULL,
	PRIMARY KEY (run_id, id),
	FOREIGN KEY(run_id) REFERENCES research_runs (run_id) ON DELETE CASCADE DEFERRABLE INITIALLY DEFERRED,
	FOREIGN KEY(run_id, parent_id) REFERENCES frontier_questions (run_id, id) ON DELETE CASCADE DEFERRABLE INITIALLY DEFERRED
);

CREATE INDEX frontier_questions_pick ON frontier_questions (run_id, status, priority, depth);

CREATE TABLE sources (
	run_id TEXT NOT NULL,
	id TEXT NOT NULL,
	url TEXT NOT NULL,
	canonical TEXT NOT NULL CHECK (canonical <> ''),
	final_url TEXT NOT NULL,
	domain TEXT NOT NULL,
	title TEXT NOT NULL,
	published TEXT NOT NULL,
	note TEXT NOT NULL,
	sha256 TEXT NOT NULL,
	length BIGINT NOT NULL CHECK (length >= 0),
	work_id TEXT NOT NULL,
	location TEXT NOT NULL,
	question_id TEXT NOT NULL,
	created_at VARCHAR NOT NULL,
	PRIMARY KEY (run_id, id),
	UNIQUE (run_id, canonical),
	FOREIGN KEY(run_id) REFERENCES research_runs (run_id) ON DELETE CASCADE DEFERRABLE INITIALLY DEFERRED
);

CREATE TABLE claims (
	run_id TEXT NOT NULL,
	id TEXT NOT NULL,
	question_id TEXT NOT NULL,
	kind TEXT NOT NULL CHECK (kind IN ('claim', 'datapoint')),
	text TEXT NOT NULL CHECK (text <> ''),
	value TEXT NOT NULL,
	unit TEXT NOT NULL,
	context TEXT NOT NULL,
	status TEXT NOT NULL CHECK (status IN ('UNVERIFIED', 'VERIFIED', 'REFUTED', 'RETRACTED')),
	check_note TEXT NOT NULL,
	created_at VARCHAR NOT NULL,
	updated_at VARCHAR NOT NULL,
	PRIMARY KEY (run_id, id),
	FOREIGN KEY(run_id) REFERENCES research_runs (run_id) ON DELETE CASCADE DEFERRABLE INITIALLY DEFERRED
);

CREATE TABLE challenges (
	run_id TEXT NOT NULL,
	id TEXT NOT NULL,
	question_id TEXT NOT NULL,
	target_type TEXT NOT NULL CHECK (target_type IN ('claim', 'question_answer', 'conclusion')),
	target_id TEXT NOT NULL,
	target_text TEXT NOT NULL,
	conclusion_version BIGINT NOT NULL CHECK (conclusion_version >= 0),
	negation TEXT NOT NULL CHECK (negation <> ''),
	strategy TEXT NOT NULL CHECK (strategy IN ('negation', 'discrepancy', 'criticism', 'alternative_method', 'scope_limit', 'primary_source', 'staleness')),
	expected_if_false TEXT NOT NULL CHECK (expected_if_false <> ''),
	"query" TEXT NOT NULL CHECK (query <> ''),
	executed BOOLEAN NOT NULL,
	search_status TEXT NOT NULL CHECK (search_status IN ('ok', 'no_results', 'not_configured', 'unknown', 'quota', 'rate_limited', 'failed')),
	status TEXT NOT NULL,
	outcome TEXT NOT NULL CHECK (outcome IN ('', 'survived', 'weakened', 'refuted', 'inconclusive')),
	evidence TEXT NOT NULL,
	result_claim_id TEXT NOT NULL,
	created_at VARCHAR NOT NULL,
	closed_at VARCHAR,
	PRIMARY KEY (run_id, id),
	CHECK ((status = 'open' AND outcome = '') OR (status = 'closed' AND outcome <> '')),
	FOREIGN KEY(run_id) REFERENCES research_runs (run_id) ON DELETE CASCADE DEFERRABLE INITIALLY DEFERRED
);

CREATE INDEX challenges_target ON challenges (run_id, target_type, target_id);

CREATE TABLE notes_versions (
	run_id TEXT NOT NULL,
	seq INTEGER NOT NULL CHECK (seq >= 1),
	event_seq BIGINT NOT NULL CHECK (event_seq >= 0),
	state_seq BIGINT NOT NULL CHECK (state_seq >= 0),
	reason TEXT NOT NULL,
	text TEXT NOT NULL,
	created_at VARCHAR NOT NULL,
	whole BOOLEAN DEFAULT 1 NOT NULL,
	PRIMARY KEY (run_id, seq),
	FOREIGN KEY(run_id) REFERENCES research_runs (run_id) ON DELETE CASCADE DEFERRABLE INITIALLY DEFERRED
);

CREATE TABLE frontier_deps (
	run_id TEXT NOT NULL,
	question_id TEXT NOT NULL,
	depends_on_id TEXT NOT NULL,
	created_at VARCHAR NOT NULL,
	PRIMARY KEY (run_id, question_id, depends_on_id),
	CHECK (question_id <> depends_on_id),
	FOREIGN KEY(run_id, question_id) REFERENCES frontier_questions (run_id, id) ON DELETE CASCADE DEFERRABLE INITIALLY DEFERRED,
	FOREIGN KEY(run_id, depends_on_id) REFERENCES frontier_questions (run_id, id) ON DELETE CASCADE DEFERRABLE INITIALLY DEFERRED
);

CREATE TABLE frontier_attempts (
	run_id TEXT NOT NULL,
	question_id TEXT NOT NULL,
	seq INTEGER NOT NULL CHECK (seq >= 1),
	"query" TEXT NOT NULL CHECK (query <> ''),
	tool TEXT NOT NULL,
	outcome TEXT NOT NULL,
	status TEXT NOT NULL CHECK (status IN ('ok', 'no_results', 'not_configured', 'unknown', 'quota', 'rate_limited', 'failed')),
	challenge_id TEXT NOT NULL,
	attempt BIGINT NOT NULL CHECK (attempt >= 0),
	urls TEXT NOT NULL,
	created_at VARCHAR NOT NULL,
	PRIMARY KEY (run_id, question_id, seq),
	FOREIGN KEY(run_id, question_id) REFERENCES frontier_questions (run_id, id) ON DELETE CASCADE DEFERRABLE INITIALLY DEFERRED
);

CREATE TABLE frontier_transitions (
	run_id TEXT NOT NULL,
	question_id TEXT NOT NULL,
	seq INTEGER NOT NULL CHECK (seq >= 1),
	from_status TEXT NOT NULL CHECK (from_status IN ('', 'pending', 'in_progress', 'resolved', 'blocked', 'unresolvable', 'pruned')),
	to_status TEXT NOT NULL CHECK (to_status IN ('pending', 'in_progress', 'resolved', 'blocked', 'unresolvable', 'pruned')),
	"trigger" TEXT NOT NULL CHECK (trigger IN ('created', 'selected', 'resolved', 'retried', 'attempts_exhausted', 'reopened', 'dependency_failed', 'dependency_met', 'dependency_added', 'prerequisite_missing', 'prerequisite_met', 'released', 'reprioritized', 'pruned_branch', 'pruned_depth', 'pruned_scope', 'contradiction', 'rewritten')),
	actor TEXT NOT NULL CHECK (actor IN ('agent', 'code', 'person')),
	reason TEXT NOT NULL,
	priority FLOAT NOT NULL CHECK (priority >= 0 AND priority <= 1),
	attempts BIGINT NOT NULL CHECK (attempts >= 0),
	caused_by TEXT NOT NULL,
	state_seq BIGINT NOT NULL CHECK (state_seq >= 0),
	event_seq BIGINT NOT NULL CHECK (event_seq >= 1),
	created_at VARCHAR NOT NULL,
	PRIMARY KEY (run_id, question_id, seq),
	FOREIGN KEY(run_id, question_id) REFERENCES frontier_questions (run_id, id) ON DELETE CASCADE DEFERRABLE INITIALLY DEFERRED
);

CREATE INDEX frontier_transitions_run ON frontier_transitions (run_id, event_seq);

CREATE TABLE claim_sources (
	run_id TEXT NOT NULL,
	claim_id TEXT NOT NULL,
	seq INTEGER NOT NULL CHECK (seq >= 1),
	source_id TEXT NOT NULL,
	stance TEXT NOT NULL CHECK (stance IN ('supports', 'contradicts')),
	quote TEXT NOT NULL,
	sha256 TEXT NOT NULL,
	span_start BIGINT NOT NULL CHECK (span_start >= 0),
	span_end BIGINT NOT NULL CHECK (span_end >= 0),
	independence TEXT NOT NULL,
	created_at VARCHAR NOT NULL,
	PRIMARY KEY (run_id, claim_id, seq),
	CHECK (span_start <= span_end),
	FOREIGN KEY(run_id, claim_id) REFERENCES claims (run_id, id) ON DELETE CASCADE DEFERRABLE INITIALLY DEFERRED,
	FOREIGN KEY(run_id, source_id) REFERENCES sources (run_id, id) ON DELETE CASCADE DEFERRABLE INITIALLY DEFERRED
);

CREATE INDEX claim_sources_source ON claim_sources (run_id, source_id);

CREATE TABLE claim_links (
	run_id TEXT NOT NULL,
	claim_id TEXT NOT NULL,
	other_id TEXT NOT NULL,
	relation TEXT NOT NULL CHECK (relation IN ('supports', 'contradicts')),
	question_id TEXT NOT NULL,
	why TEXT NOT NULL,
	created_at VARCHAR NOT NULL,
	PRIMARY KEY (run_id, claim_id, other_id, relation, question_id),
	FOREIGN KEY(run_id, claim_id) REFERENCES claims (run_id, id) ON DELETE CASCADE DEFERRABLE INITIALLY DEFERRED
);

CREATE TABLE challenge_sources (
	run_id TEXT NOT NULL,
	challenge_id TEXT NOT NULL,
	source_id TEXT NOT NULL,
	PRIMARY KEY (run_id, challenge_id, source_id),
	FOREIGN KEY(run_id, challenge_id) REFERENCES challenges (run_id, id) ON DELETE CASCADE DEFERRABLE INITIALLY DEFERRED,
	FOREIGN KEY(run_id, source_id) REFERENCES sources (run_id, id) ON DELETE CASCADE DEFERRABLE INITIALLY DEFERRED
);
