CREATE TABLE "queue_channels" (
	"organisation_id" uuid NOT NULL,
	"queue_id" uuid NOT NULL,
	"channel_id" uuid NOT NULL,
	"position" smallint NOT NULL,
	CONSTRAINT "queue_channels_queue_id_channel_id_pk" PRIMARY KEY("queue_id","channel_id")
);
--> statement-breakpoint
CREATE TABLE "queues" (
	"id" uuid PRIMARY KEY NOT NULL,
	"organisation_id" uuid NOT NULL,
	"name" text NOT NULL,
	"is_default" boolean NOT NULL,
	"time_zone" text NOT NULL,
	"times" jsonb NOT NULL,
	"paused_at" timestamp (3) with time zone,
	"created_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	CONSTRAINT "queues_organisation" UNIQUE("organisation_id","id")
);
--> statement-breakpoint
ALTER TABLE "posts" ADD COLUMN "queue_id" uuid;--> statement-breakpoint
ALTER TABLE "posts" ADD COLUMN "queue_date" timestamp (3) with time zone;--> statement-breakpoint
ALTER TABLE "queue_channels" ADD CONSTRAINT "queue_channels_organisation_id_organisations_id_fk" FOREIGN KEY ("organisation_id") REFERENCES "public"."organisations"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "queue_channels" ADD CONSTRAINT "queue_channels_queue" FOREIGN KEY ("organisation_id","queue_id") REFERENCES "public"."queues"("organisation_id","id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "queue_channels" ADD CONSTRAINT "queue_channels_channel" FOREIGN KEY ("organisation_id","channel_id") REFERENCES "public"."channels"("organisation_id","id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "queues" ADD CONSTRAINT "queues_organisation_id_organisations_id_fk" FOREIGN KEY ("organisation_id") REFERENCES "public"."organisations"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
CREATE INDEX "queue_channels_channel_queues" ON "queue_channels" USING btree ("organisation_id","channel_id");--> statement-breakpoint
CREATE UNIQUE INDEX "queues_name" ON "queues" USING btree ("organisation_id",lower("name"));--> statement-breakpoint
CREATE UNIQUE INDEX "queues_default" ON "queues" USING btree ("organisation_id") WHERE is_default;--> statement-breakpoint
ALTER TABLE "posts" ADD CONSTRAINT "posts_queue" FOREIGN KEY ("organisation_id","queue_id") REFERENCES "public"."queues"("organisation_id","id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
CREATE UNIQUE INDEX "posts_queue_time" ON "posts" USING btree ("queue_id","date") WHERE queue_id is not null and queue_date = date and told <> 'CANCELLED';--> statement-breakpoint
CREATE INDEX "posts_of_queue" ON "posts" USING btree ("queue_id","told","date","id") WHERE queue_id is not null;