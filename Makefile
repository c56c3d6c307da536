# SPDX-License-Identifier: GPL-2.0-only
# xenflush - plain GNU make; V=1 shows commands, SAN=1 builds with ASan and UBSan.

PREFIX ?= /usr/local
DESTDIR ?=
BINDIR = $(PREFIX)/bin
LIBEXECDIR = $(PREFIX)/libexec/xenflush
DATADIR = $(PREFIX)/share/xenflush
MANDIR = $(PREFIX)/share/man/man1

CC ?= gcc
PKG_CONFIG ?= pkg-config
OPT ?= -O2 -g
WARNINGS = -Wall -Wextra -Wshadow -Wstrict-prototypes -Wmissing-prototypes \
	-Wpointer-arith -Wformat=2 -Wwrite-strings -Wvla -Werror
CFLAGS ?= $(OPT)
ALL_CFLAGS = -std=gnu11 -D_FILE_OFFSET_BITS=64 -Icommon -Itracepoints -MMD -MP \
	$(WARNINGS) $(CFLAGS)

BUILD = build/plain
ifeq ($(SAN),1)
BUILD = build/san
ALL_CFLAGS += -O1 -fsanitize=address,undefined -fno-sanitize-recover=undefined \
	-fno-omit-frame-pointer
LDFLAGS += -fsanitize=address,undefined
endif
ifeq ($(COV),1)
BUILD = build/cov
ALL_CFLAGS += -O0 --coverage
LDFLAGS += --coverage
endif

ifeq ($(V),1)
Q =
else
Q = @
SAY = @echo "  $(1)"
endif

# Only the collector may link Xen's libraries; it builds without them.
XTL_LIBS := $(shell $(PKG_CONFIG) --libs xentoollog 2>/dev/null)
ifneq ($(XTL_LIBS),)
XTL_CFLAGS = -DHAVE_XENTOOLLOG
endif

COMMON = $(patsubst common/%.c,$(BUILD)/common/%.o,$(filter-out common/log.c,$(wildcard common/*.c))) \
	$(BUILD)/schema.o
COLLECTOR = $(patsubst %.c,$(BUILD)/%.o,$(filter-out collector/mkschema.c,$(wildcard collector/*.c))) \
	$(BUILD)/collector/log.o
ANALYZER = $(patsubst %.c,$(BUILD)/%.o,$(wildcard analyzer/*.c)) $(BUILD)/common/log.o

PROGRAMS = $(BUILD)/xenflush $(BUILD)/collector/xenflush-collector

.PHONY: all
all: $(PROGRAMS)
ifeq ($(BUILD),build/plain)
all: xenflush collector/xenflush-collector
endif

# The programs work in place; tests of other builds call them in $(BUILD).
xenflush collector/xenflush-collector: %: build/plain/%
	$(Q)cp -f $< $@

$(BUILD)/xenflush: $(ANALYZER) $(COMMON)
	$(call SAY,LD $@)
	$(Q)$(CC) $(ALL_CFLAGS) $(LDFLAGS) -o $@ $^ -lsqlite3 -lm

$(BUILD)/collector/xenflush-collector: $(COLLECTOR) $(COMMON)
	$(call SAY,LD $@)
	$(Q)$(CC) $(ALL_CFLAGS) $(LDFLAGS) -o $@ $^ -lsqlite3 $(XTL_LIBS)

$(BUILD)/collector/log.o: common/log.c
	$(call SAY,CC $<)
	@mkdir -p $(@D)
	$(Q)$(CC) $(ALL_CFLAGS) $(XTL_CFLAGS) -c -o $@ $<

$(BUILD)/%.o: %.c
	$(call SAY,CC $<)
	@mkdir -p $(@D)
	$(Q)$(CC) $(ALL_CFLAGS) -c -o $@ $<

# schema.sql as a C string.
build/schema.c: schema.sql
	@mkdir -p $(@D)
	$(Q){ echo 'extern const char xf_schema[];'; echo 'const char xf_schema[] ='; \
	sed -e 's/[\\"]/\\&/g' -e 's/.*/"&\\n"/' $<; echo ';'; } >$@

$(BUILD)/schema.o: build/schema.c
	@mkdir -p $(@D)
	$(Q)$(CC) $(ALL_CFLAGS) -c -o $@ $<

build/mkschema: collector/mkschema.c common/events.c common/events.h tracepoints/trace_flush.h
	@mkdir -p $(@D)
	$(Q)$(CC) -std=gnu11 $(WARNINGS) -Icommon -Itracepoints -o $@ collector/mkschema.c common/events.c

# Rewrites the record tables of schema.sql from the table of events.
.PHONY: schema
schema: build/mkschema
	$(Q)scripts/update-schema.sh build/mkschema schema.sql

# --- set-up, run, test -------------------------------------------------------
.PHONY: run deps-run deps-test test
deps-run:
	$(Q)scripts/install-deps.sh run
deps-test:
	$(Q)scripts/install-deps.sh test

# Sub-makes, because what is installed decides how to build.
run: deps-run
	$(Q)$(MAKE) --no-print-directory all
	$(Q)scripts/run.sh

test: deps-test
	$(Q)$(MAKE) --no-print-directory check

UNIT_TESTS = $(patsubst tests/unit/%.c,$(BUILD)/tests/%,$(wildcard tests/unit/*.c))
UNIT_OBJECTS = $(filter-out %/collector/main.o,$(COLLECTOR))

$(BUILD)/tests/%: tests/unit/%.c $(UNIT_OBJECTS) $(COMMON)
	$(call SAY,LD $@)
	@mkdir -p $(@D)
	$(Q)$(CC) $(ALL_CFLAGS) -Icollector $(LDFLAGS) -o $@ $^ -lcmocka -lsqlite3 $(XTL_LIBS)

.PHONY: check
check: all $(UNIT_TESTS)
	$(Q)tests/run-tests.sh $(BUILD)/xenflush $(UNIT_TESTS)

# --- install -----------------------------------------------------------------
.PHONY: install
install: all
	$(Q)install -d $(DESTDIR)$(BINDIR) $(DESTDIR)$(LIBEXECDIR) $(DESTDIR)$(DATADIR)/gnuplot \
		$(DESTDIR)$(MANDIR)
	$(Q)install -m 755 $(BUILD)/xenflush $(DESTDIR)$(BINDIR)/xenflush
	$(Q)install -m 755 $(BUILD)/collector/xenflush-collector $(DESTDIR)$(LIBEXECDIR)/xenflush-collector
	$(Q)install -m 644 scripts/gnuplot/*.gp $(DESTDIR)$(DATADIR)/gnuplot/
	$(Q)install -m 644 schema.sql $(DESTDIR)$(DATADIR)/schema.sql
	$(Q)install -d $(DESTDIR)$(PREFIX)/share/doc/xenflush
	$(Q)install -m 644 README.md docs/database.md $(DESTDIR)$(PREFIX)/share/doc/xenflush/
	$(Q)install -m 644 docs/xenflush.1 $(DESTDIR)$(MANDIR)/xenflush.1

# --- fuzzing and benchmarks ------------------------------------------------------
FUZZ_SECONDS ?= 60
.PHONY: fuzz
fuzz: all
	$(Q)tests/fuzz/run.sh $(FUZZ_SECONDS)

.PHONY: bench
bench: all
	$(Q)tests/bench/run.sh

include scripts/lab/lab.mk

-include $(wildcard build/*/*/*.d build/*/*.d)

.PHONY: clean
clean:
	$(Q)rm -rf build xenflush collector/xenflush-collector
